package main

import (
	"context"
	"score/scored/api/scorev1"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// queueNoticeAfter is how long a job may be queued before scrun says so: a shorter wait nobody
// wonders about.
const queueNoticeAfter = time.Second

// stoppedTimer returns a timer that has not begun.
func stoppedTimer() *time.Timer {
	timer := time.NewTimer(queueNoticeAfter)
	timer.Stop()
	return timer
}

// timeQueue begins to wait for the time to say that the job is queued, or ends that.
func (s *session) timeQueue(state scorev1.JobState) {
	if state == scorev1.JobState_JOB_STATE_QUEUED && !s.messenger.quiet {
		s.longQueued.Reset(queueNoticeAfter)
		return
	}
	s.longQueued.Stop()
}

// queueReason returns why the job waits, in one line. A cluster that cannot answer now gives no
// reason; scrun waits for it, and says so elsewhere.
func (s *session) queueReason(ctx context.Context) string {
	reply, err := s.orders.Jobs.ExplainJob(ctx, connect.NewRequest(&scorev1.ExplainJobRequest{JobId: s.jobID}))
	if err != nil || reply.Msg.GetResource() == "" { // it was given its places meanwhile
		return ""
	}
	return strings.Join(reply.Msg.GetLines(), "; ")
}
