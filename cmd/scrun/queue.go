package main

import (
	"context"
	"score/scored/api/scorev1"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// queueNoticeAfter is how long a job may be queued before scrun prints the reason; users do not
// notice a shorter wait.
const queueNoticeAfter = time.Second

// stoppedTimer returns a timer that does not run.
func stoppedTimer() *time.Timer {
	timer := time.NewTimer(queueNoticeAfter)
	timer.Stop()
	return timer
}

// timeQueue starts the timer for the notice when the job is queued, and stops it in all other
// states.
func (s *session) timeQueue(state scorev1.JobState) {
	if state == scorev1.JobState_JOB_STATE_QUEUED && !s.messenger.quiet {
		s.longQueued.Reset(queueNoticeAfter)
		return
	}
	s.longQueued.Stop()
}

// queueReason returns why the job waits, in one line. If the cluster cannot answer, it returns "":
// scrun reports that elsewhere.
func (s *session) queueReason(ctx context.Context) string {
	reply, err := s.orders.get().Jobs.ExplainJob(ctx, connect.NewRequest(&scorev1.ExplainJobRequest{JobId: s.jobID}))
	if err != nil || reply.Msg.GetResource() == "" { // it has got its places meanwhile
		return ""
	}
	return strings.Join(reply.Msg.GetLines(), "; ")
}
