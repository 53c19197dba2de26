package main

import (
	"context"
	"os"
	"score/scored/api/scorev1"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// stuckTime is how long a write of an ended job's output may block before a pending signal ends
// scrun. A busy disk or terminal takes less for a piece.
const stuckTime = 2 * time.Second

// showing counts each write of output twice, before and after: an odd count that does not change is
// a blocked write.
type showing struct{ count atomic.Uint64 }

func (s *showing) during(write func() error) error {
	s.count.Add(1)
	defer s.count.Add(1)
	return write()
}

// stuckWatch watches the output after a signal that asked scrun to end. The ranks have received the
// signal, and scrun waits for their last output; but a pipe may never accept it.
type stuckWatch struct {
	left  *leftBy // the signal; nil: none arrived
	timer *time.Timer
	seen  uint64
}

// begin starts the watch if the signal asks scrun to end.
func (w *stuckWatch) begin(number syscall.Signal, now uint64) {
	if slices.Contains(endingSignals, os.Signal(number)) {
		w.left = &leftBy{number}
		w.check(now)
	}
}

// check reports whether the same write has been blocked since the last check, and schedules the
// next check.
func (w *stuckWatch) check(now uint64) bool {
	stuck := now == w.seen && now%2 == 1
	w.seen = now
	w.timer.Reset(stuckTime)
	return stuck
}

// leaveStuck ends scrun if the job has ended. A running job may still be handling the signal.
func (s *session) leaveStuck(left *leftBy) func(context.Context) answer {
	return func(ctx context.Context) answer {
		job, _, err := s.getJob(ctx, s.orders)
		if err != nil || job.GetState() != scorev1.JobState_JOB_STATE_DONE {
			return answer{}
		}
		return answer{sentence: "left: the job has ended, but nothing takes the rest of its output", left: left}
	}
}
