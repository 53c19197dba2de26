package main

import (
	"context"
	"score/scored/api/scorev1"
	"sync"
	"time"
)

// confirmEvery is the number of shown bytes that one confirmation to the cluster covers: a quarter
// of what each node keeps.
const confirmEvery = 128 << 10

// shown records how much of the job's output has arrived, and how much of that was shown.
type shown struct {
	ctx     context.Context // of the session: confirmations end with it
	job     uint64          // the job of the session
	confirm func([]*scorev1.OutputMark) error

	mu         sync.Mutex
	came       map[shownFrom]uint64
	last       map[shownFrom]uint64
	bytes      int // shown since the last confirmation
	confirming bool
}

type shownFrom struct {
	job     uint64
	attempt uint32
	node    uint32
}

func shownOf(m *scorev1.OutputMark) shownFrom {
	return shownFrom{m.GetJobId(), m.GetAttempt(), m.GetNodeIndex()}
}

func newShown(ctx context.Context, job uint64, confirm func([]*scorev1.OutputMark) error) *shown {
	return &shown{ctx: ctx, job: job, confirm: confirm, came: make(map[shownFrom]uint64), last: make(map[shownFrom]uint64)}
}

// isNew records that a piece of output has arrived, and reports whether it is new.
func (s *shown) isNew(mark *scorev1.OutputMark) bool {
	if mark.GetSequence() == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mark.GetSequence() <= s.came[shownOf(mark)] {
		return false
	}
	s.came[shownOf(mark)] = mark.GetSequence()
	return true
}

// add counts a piece of output as shown, and confirms to the cluster once per confirmEvery bytes.
// It confirms the end of a stream of a spawned process at once, so that the nodes need not keep
// that output.
func (s *shown) add(output *scorev1.Output) {
	mark := output.GetMark()
	if mark.GetSequence() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[shownOf(mark)] = mark.GetSequence()
	if s.bytes += len(output.GetData()); output.GetEof() && mark.GetJobId() != s.job {
		s.bytes += confirmEvery
	}
	if s.bytes < confirmEvery || s.confirming {
		return
	}
	s.confirming = true
	go s.confirmShown()
}

// confirmAgain is the wait before a failed confirmation is sent again.
const confirmAgain = 200 * time.Millisecond

// confirmShown confirms output until less than confirmEvery bytes are unconfirmed. It repeats a
// confirmation that did not arrive: the ranks may wait for it, and then write nothing that would
// cause another.
func (s *shown) confirmShown() {
	for {
		s.mu.Lock()
		if s.bytes < confirmEvery {
			s.confirming = false
			s.mu.Unlock()
			return
		}
		s.bytes = 0
		marks := marksOf(s.last)
		s.mu.Unlock()
		if s.confirm(marks) == nil {
			continue
		}
		if pause(s.ctx, confirmAgain); s.ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		s.bytes += confirmEvery
		s.mu.Unlock()
	}
}

// received returns how much output of each node has arrived here, shown or not.
func (s *shown) received() []*scorev1.OutputMark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return marksOf(s.came)
}

func marksOf(places map[shownFrom]uint64) []*scorev1.OutputMark {
	marks := make([]*scorev1.OutputMark, 0, len(places))
	for from, sequence := range places {
		marks = append(marks, &scorev1.OutputMark{JobId: from.job, Attempt: from.attempt, NodeIndex: from.node, Sequence: sequence})
	}
	return marks
}
