package leader

import (
	"errors"
	"fmt"
	"score/scored/failpoint"
	"score/scored/replica"
	"score/scored/state/statepb"
	"time"

	"go.uber.org/zap"
)

func (l *Leader) worthCommitting() bool {
	c := l.controller
	return c.waited() || len(c.commands) > 0 && c.now-c.lazySince >= lazyDelay.Nanoseconds()
}

func (l *Leader) nextWake() int64 {
	c := l.controller
	at := c.timers.deadline()
	if len(c.commands) > 0 && !l.busy {
		if lazy := c.lazySince + lazyDelay.Nanoseconds(); at == 0 || lazy < at {
			at = lazy
		}
	}
	return at
}

func (l *Leader) commit() {
	commands, taken := l.controller.takeCommands(maxEntry)
	l.busy = true
	l.batches <- batch{
		controller: l.controller,
		entry:      &statepb.Entry{Term: l.controller.term, TimeNanos: l.controller.now, Commands: commands},
		taken:      taken,
	}
}

// commitAll runs beside the controller, and waits for the disk.
func (l *Leader) commitAll() {
	for b := range l.batches {
		start := time.Now()
		b.began = start
		err := l.propose(b.entry)
		if l.options.ObserveCommit != nil && err == nil {
			l.options.ObserveCommit(time.Since(start))
		}
		l.results <- result{b, err}
	}
}

// propose appends an entry to the log and waits until it is committed and applied.
func (l *Leader) propose(entry *statepb.Entry) error {
	if err := failpoint.Hit(failpoint.ProposeBegin); err != nil {
		return err
	}
	if err := l.options.Replica.Commit(entry); err != nil {
		return err
	}
	return failpoint.Hit(failpoint.CommitEnd)
}

// finish handles the result of a batch: it is committed, or the controller's state is invalid.
func (l *Leader) finish(r result) {
	l.busy = false
	if r.controller != l.controller {
		return
	}
	if r.err == nil {
		l.committed, l.confirmed = r.taken, r.began
		return
	}
	if !errors.Is(r.err, replica.ErrStale) {
		l.logger.Error("a change could not be committed", zap.Error(r.err))
	}
	l.abandon(fmt.Errorf("%w: %w", ErrLost, r.err))
}

type batch struct {
	controller *controller
	entry      *statepb.Entry
	taken      uint64    // controller's commands up to and including this entry
	began      time.Time // when it was given to the log
}

type result struct {
	batch
	err error
}
