package daemonstest

import (
	"fmt"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"testing"

	"connectrpc.com/connect"
)

// AwaitJob waits until a job is as wanted.
func AwaitJob(t *testing.T, c *daemons.Cluster, id uint64, what string, is func(*scorev1.Job) bool) {
	t.Helper()
	var last *scorev1.Job
	err := daemons.Await(t.Context(), fmt.Sprintf("job %d %s", id, what), func() bool {
		reply, err := c.Jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err != nil {
			return false
		}
		last = reply.Msg.GetJob()
		return is(last)
	})
	if err != nil {
		t.Fatalf("%v: %v, restarts %d, %v", err, last.GetState(), last.GetRestarts(), last.GetVerdict())
	}
}

// Running reports whether all ranks of a job have begun, and it has not ended.
func Running(j *scorev1.Job) bool {
	return j.GetState() == scorev1.JobState_JOB_STATE_RUNNING && j.GetStartedNanos() != 0
}
