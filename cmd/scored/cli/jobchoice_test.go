package cli

import (
	"os"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"slices"
	"strconv"
	"testing"

	"connectrpc.com/connect"
)

// Options of commands choose jobs: of the user who types, unless another one is named.
func TestChosenJobs(t *testing.T) {
	me := strconv.Itoa(os.Getuid())
	job := func(id uint64, name string) *scorev1.Job {
		return &scorev1.Job{Id: id, Spec: &scorev1.JobSpec{Name: name}}
	}
	var asked *scorev1.ListJobsRequest
	var done []uint64
	act := func(id uint64) error {
		done = append(done, id)
		if id == 8 {
			return connect.NewError(connect.CodeFailedPrecondition, os.ErrProcessDone)
		}
		return nil
	}
	socket := clienttest.Serve(t, clienttest.Daemon{
		ListJobs: func(r *scorev1.ListJobsRequest) (*scorev1.ListJobsResponse, error) {
			asked = r
			return &scorev1.ListJobsResponse{Jobs: []*scorev1.Job{job(7, "cfd"), job(8, "cfd"), job(9, "md")}}, nil
		},
		Cancel: act,
		Signal: func(id uint64, _ int32) error { return act(id) },
	})
	queued, running := scorev1.JobState_JOB_STATE_QUEUED, scorev1.JobState_JOB_STATE_RUNNING
	for _, c := range []struct {
		line   []string
		user   string
		states []scorev1.JobState
		done   []uint64
	}{
		{[]string{"job", "cancel", "-u", "ann"}, "ann", nil, []uint64{9, 8, 7}},
		{[]string{"job", "cancel", "-s", "queued,running"}, me, []scorev1.JobState{queued, running}, []uint64{9, 8, 7}},
		{[]string{"job", "cancel", "-J", "cfd"}, me, nil, []uint64{8, 7}},
		{[]string{"job", "signal", "USR1", "-J", "md", "-u", "ann"}, "ann", []scorev1.JobState{running}, []uint64{9}},
	} {
		done = nil
		if code, out, errs := scored(socket, c.line...); code != 0 || out+errs != "" {
			t.Errorf("%q: exit code %d, %q", c.line, code, out+errs)
		}
		if asked.GetUser() != c.user || asked.GetAll() || !slices.Equal(asked.GetStates(), c.states) || !slices.Equal(done, c.done) {
			t.Errorf("%q asks for %v, and takes %v; want %v", c.line, asked, done, c.done)
		}
	}
}
