package main

import (
	"errors"
	"io"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"testing"
	"testing/synctest"
	"time"
)

// A job that stays queued is told of once, with what the server knows, and no job that was given
// its places meanwhile.
func TestTellQueue(t *testing.T) {
	for name, test := range map[string]struct {
		reply *scorev1.ExplainJobResponse
		err   string
	}{
		"queued": {
			&scorev1.ExplainJobResponse{Resource: "nodes", Lines: []string{"job 7 waits for nodes", "nodes that take no new jobs: n2 is silent"}},
			"scrun: job 7 waits for nodes; nodes that take no new jobs: n2 is silent\n",
		},
		"started": {&scorev1.ExplainJobResponse{Lines: []string{"job 7 is in row 0 on n1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, end := make(chan struct{}, 2), make(chan struct{})
			socket := clienttest.Serve(t, clienttest.Daemon{
				Submit: accept,
				Explain: func(uint64) (*scorev1.ExplainJobResponse, error) {
					asked <- struct{}{}
					return test.reply, nil
				},
				Attach: func(job *clienttest.Attachment) {
					job.State(scorev1.JobState_JOB_STATE_QUEUED)
					<-end
					job.State(scorev1.JobState_JOB_STATE_RUNNING, &scorev1.NodePlace{Node: "n1", Ranks: []uint32{0}})
					job.End(0, "")
				},
			})
			command, errs := signalled(t, socket)
			<-asked
			errs.expect(test.err)
			close(end)
			rest, err := io.ReadAll(errs.from)
			if err := errors.Join(err, command.Wait()); err != nil || len(rest) > 0 {
				t.Errorf("%v, then it told %q", err, rest)
			}
		})
	}
}

// Nothing is told of a job that is queued for a moment, and nothing with -q.
func TestTimeQueue(t *testing.T) {
	const queued, starting = scorev1.JobState_JOB_STATE_QUEUED, scorev1.JobState_JOB_STATE_STARTING
	for name, test := range map[string]struct {
		quiet  bool
		states []scorev1.JobState
		told   bool
	}{
		"queued":                  {false, []scorev1.JobState{queued}, true},
		"starts again":            {false, []scorev1.JobState{starting, queued}, true},
		"another server tells it": {false, []scorev1.JobState{queued, queued}, true},
		"for a moment":            {false, []scorev1.JobState{queued, starting}, false},
		"placed at once":          {false, []scorev1.JobState{starting}, false},
		"not heard of yet":        {false, nil, false},
		"quiet":                   {true, []scorev1.JobState{queued}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &session{messenger: messenger{quiet: test.quiet}, longQueued: stoppedTimer()}
				for _, state := range test.states {
					s.timeQueue(state)
					time.Sleep(queueNoticeAfter / 2)
				}
				time.Sleep(queueNoticeAfter)
				select {
				case <-s.longQueued.C:
					if !test.told {
						t.Error("it would be told")
					}
				default:
					if test.told {
						t.Error("it would not be told")
					}
				}
			})
		})
	}
}
