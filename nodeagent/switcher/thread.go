package switcher

import (
	"context"
	"runtime"
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"

	"go.uber.org/zap"
)

// Run is the thread. It returns when ctx has ended. It thaws nothing: a
// frozen job can be killed frozen.
func (s *Switcher) Run(ctx context.Context) {
	// Never unlocked: the thread ends with the goroutine, and its priority
	// with it.
	runtime.LockOSThread()
	defer s.end()
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

// raisePriority raises what is permitted.
func (s *Switcher) raisePriority() {
	if s.options.Raise == nil {
		return
	}
	if err := s.options.Raise(); err != nil {
		s.logger.Info("switching without real-time priority", zap.Error(err))
	}
}

// sleep returns at the instant, or early for a command.
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
		// Our own descriptors cannot fail so; only avoid spinning.
		s.logger.Error("the switching thread cannot sleep", zap.Error(err))
		time.Sleep(lastPause)
	}
}

// sleepPunctually sleeps until the instant of a switch: it wakes a little early
// and spins for the rest. There is such an instant only while several jobs take
// turns, so that a lone one never pays for it.
func (s *Switcher) sleepPunctually(instant int64) error {
	late, woken, err := s.sleeper.Until(s.lead.before(s.ticked, instant))
	if err != nil || woken {
		return err
	}
	s.lead.woke(late)
	if len(s.freezing) > 0 {
		s.checkStopped() // while there is time; the last check may have been before the last switch
		s.carryOut()
	}
	for realtime.Now() < instant && s.inbox.empty() {
		continue // no timer is as exact as this
	}
	return nil
}

// wake ends the thread's sleep. An error means that it has ended.
func (s *Switcher) wake() { _ = s.sleeper.Wake() }

// end refuses later commands and answers those that nobody will act on.
func (s *Switcher) end() {
	for l := s.inbox.close(); l != nil; l = l.next {
		l.answer()
	}
	if s.report != nil {
		s.report.filled <- struct{}{}
	}
	s.sleeper.Close()
}

// round does everything that is due now.
func (s *Switcher) round() {
	for l := s.inbox.take(); l != nil; {
		next := l.next
		l.next = nil
		s.read(l)
		l = next
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

// tick reports to the machine that its deadline has come. It first reports
// the jobs that stand still by now, since the deadline may belong to a freeze
// that is over.
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
