package switcher

import (
	"context"
	"runtime"
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Run is the loop of the thread. It returns when ctx has ended. It leaves frozen jobs frozen: they
// can be killed so.
func (s *Switcher) Run(ctx context.Context) {
	// Never unlocked: the thread ends with the goroutine, and so does its priority.
	runtime.LockOSThread()
	defer s.end()
	s.findHome()
	stop := context.AfterFunc(ctx, func() {
		s.stopped.Store(true)
		s.wake()
	})
	defer stop()
	s.raisePriority()
	for !s.stopped.Load() {
		s.round()
		if s.inbox.empty() {
			s.sleep(s.deadline())
		}
	}
}

// findHome notes on which CPUs the thread may run.
func (s *Switcher) findHome() {
	if err := unix.SchedGetaffinity(0, &s.home); err != nil {
		s.logger.Warn("the switching thread does not know its CPUs", zap.Error(err))
	}
}

// raisePriority raises the thread's priority if that is permitted.
func (s *Switcher) raisePriority() {
	if s.options.Raise == nil {
		return
	}
	if err := s.options.Raise(); err != nil {
		s.logger.Info("switching without real-time priority", zap.Error(err))
	}
}

// sleep sleeps until the instant, or until a command comes.
func (s *Switcher) sleep(instant int64) {
	var err error
	switch {
	case instant == ctxswitch.Never:
		err = s.sleeper.Forever()
	case instant == s.machine.Deadline() && !s.machine.Loose():
		err = s.sleepPunctually(instant)
	default:
		_, _, err = s.sleeper.Until(instant)
	}
	if err != nil {
		// This cannot happen with our own descriptors; the pause avoids spinning.
		s.logger.Error("the switching thread cannot sleep", zap.Error(err))
		time.Sleep(lastPause)
	}
}

// sleepPunctually sleeps until the instant of a switch: it wakes a little early and spins for the
// rest. There is such an instant only while several jobs take turns, so a lone job never pays for
// it.
func (s *Switcher) sleepPunctually(instant int64) error {
	late, woken, err := s.sleeper.Until(s.lead.before(s.ticked, instant))
	if err != nil || woken {
		return err
	}
	s.lead.woke(late)
	if len(s.freezing) > 0 {
		s.checkStopped() // while there is time: the last check may be older than the last switch
		s.carryOut()
	}
	for realtime.Now() < instant && s.inbox.empty() {
		continue // spin: no timer is as exact
	}
	return nil
}

// wake ends the thread's sleep. An error means that the thread has ended.
func (s *Switcher) wake() { _ = s.sleeper.Wake() }

// end refuses later commands and answers the remaining ones.
func (s *Switcher) end() {
	for c := s.inbox.close(); c != nil; c = c.next {
		c.answer()
	}
	if s.report != nil {
		s.report.filled <- struct{}{}
	}
	s.sleeper.Close()
}

// round does everything that is due now.
func (s *Switcher) round() {
	for c := s.inbox.take(); c != nil; {
		next := c.next
		c.next = nil
		s.execute(c)
		c = next
	}
	if realtime.Now() >= s.machine.Deadline() {
		s.tick()
	}
	if len(s.freezing) > 0 && realtime.Now() >= s.checkAt {
		s.checkStopped()
		s.carryOut()
	}
	s.checkLimits()
	s.fillReport()
}

// tick reports to the machine that its deadline has come. Before that it reports the jobs that
// stand still by now, since the deadline may belong to a completed freeze.
func (s *Switcher) tick() {
	loose := s.machine.Loose()
	if len(s.freezing) > 0 {
		s.checkStopped()
	}
	now := realtime.Now()
	if !loose {
		s.ticked = now
	}
	s.handle(now, ctxswitch.Tick())
}

// deadline returns when round must be called next, by the machine's clock.
func (s *Switcher) deadline() int64 {
	at := s.machine.Deadline()
	if len(s.freezing) > 0 {
		at = min(at, s.checkAt)
	}
	if s.report != nil {
		at = min(at, realtime.Now()+collectAhead.Nanoseconds())
	}
	return min(at, s.nextLimit())
}
