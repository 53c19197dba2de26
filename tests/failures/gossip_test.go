package failures

import (
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"syscall"
	"testing"
	"time"
)

// A steward dies while the leader is stopped: the other three nodes of the job learn it from
// each other.
func TestFailuresSpreadWithoutALeader(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 4, Slice: slice, Grace: time.Minute})
	gang := start(t, c, "scrun", "-s", "-N", "4", "-n", "4", "sh", "-c", forever)
	daemonstest.AwaitJob(t, c, 1, "runs on four nodes", func(j *scorev1.Job) bool { return daemonstest.Running(j) && len(j.GetPlaces()) == 4 })
	if err := daemons.Await(t.Context(), "a rank on n3", func() bool { return len(c.Ranks(1, "n3")) > 0 }); err != nil {
		t.Fatal(err)
	}
	c.Server.Pause()
	t.Cleanup(c.Server.Continue)
	began := time.Now()
	for _, p := range c.Processes() {
		if p.Node == "n3" && p.Role == daemons.RoleSteward {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // the job's is among them
		}
	}
	received := func(node string) bool {
		n, err := c.Agent(node).Metric("score_agent_failures_received_total")
		return err == nil && n >= 1
	}
	if err := daemons.Await(t.Context(), "all have received it", func() bool { return received("n1") && received("n2") && received("n4") }); err != nil {
		t.Fatal(err)
	}
	t.Logf("received by all after %v", time.Since(began).Round(time.Millisecond)) // nodeagent/gossip tests the time limit, in virtual time
	c.Server.Continue()
	gang.Ends(125, "the steward of job 1 on node n3")
}
