package failures

import (
	"runtime"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// TestRequeuedWhilePlanned: a job is requeued while its row is on, and placed again before the plan
// that takes it out of that row has come into force, at the end of the slice since another job
// shares the row. Each attempt begins on all nodes.
func TestRequeuedWhilePlanned(t *testing.T) {
	t.Parallel()
	const attempts = 6 // automatic restarts, which are bounded, are not concerned
	const slow = 400 * time.Millisecond
	c := startCluster(t, daemons.Options{Nodes: 2, Slice: slow})
	beside := gang(t, c, 1, forever)
	again := gang(t, c, 2, forever)
	wide := gang(t, c, 3, forever, "-n", strconv.Itoa(2*runtime.NumCPU())) // a row of its own
	for restarts := range uint32(attempts) {
		if _, err := c.Jobs.RequeueJob(t.Context(), connect.NewRequest(&scorev1.RequeueJobRequest{JobId: 2})); err != nil {
			t.Fatal(err)
		}
		daemonstest.AwaitJob(t, c, 2, "runs again", func(j *scorev1.Job) bool {
			return j.GetRestarts() == restarts+1 && daemonstest.Running(j)
		})
	}
	for id, p := range map[string]*daemonstest.Program{"1": beside, "2": again, "3": wide} {
		scored(t, c, "job", "cancel", id)
		p.Ends(143)
	}
}
