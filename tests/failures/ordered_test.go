package failures

import (
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// A job is cancelled, and the leader is lost when the ranks have been killed and before their nodes
// could say so. The next one knows that they have not ended by themselves.
func TestCancelledWhenTheLeaderIsLost(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 2, Slice: slice, Grace: time.Minute})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	job := start(t, c, "scrun", "-s", "-N", "2", "-n", "2", "sleep", "1000")
	daemonstest.AwaitJob(t, c, 1, "runs", daemonstest.Running)
	check(c.Fail(victim + ":done.report=stop"))
	_, err := c.Jobs.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1}))
	check(err)
	check(daemons.Await(t.Context(), "the node is about to tell that its ranks have ended", c.Agent(victim).Paused))
	c.Server.Kill()
	check(c.Fail(""))
	check(c.Server.Start())
	c.Agent(victim).Continue()
	job.Ends(128+15, "the job was cancelled by root")
	daemonstest.AwaitJob(t, c, 1, "was cancelled", func(j *scorev1.Job) bool {
		return j.GetVerdict().GetReason() == scorev1.EndReason_END_REASON_CANCELLED
	})
	check(c.AwaitClean(t.Context(), nil))
}
