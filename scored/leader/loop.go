package leader

import (
	"context"
	"score/scored/replica"
	"sync"
	"time"
)

const (
	// maxInputs bounds the queued inputs; further callers block.
	maxInputs = 1024
	// maxBatch bounds the inputs that are decided before effects are carried out.
	maxBatch = 128
	// maxEntry bounds the commands of one entry, so that the log is never busy with one for long.
	maxEntry = 512
	// maxEntryBytes bounds them as well, unless there is only one: a submission has up to 2 MiB,
	// and an entry must reach the other servers and their disks within the time of a call.
	maxEntryBytes = 4 << 20
	// lazyDelay is how long a command that no effect waits for may be held back, so that a short
	// job costs two commits instead of three.
	lazyDelay = 20 * time.Millisecond
	// linkCheck is the interval of the check for silent streams.
	linkCheck = 250 * time.Millisecond
	// retryDelay is the pause after a commit that failed.
	retryDelay = 200 * time.Millisecond
)

// Run decides until ctx ends. It may be called once.
func (l *Leader) Run(ctx context.Context) error {
	var committing sync.WaitGroup
	committing.Go(l.commitAll)
	defer committing.Wait()
	defer close(l.batches)
	defer close(l.stopped)
	defer func() { l.abandon(ErrStopped) }()

	timer := time.NewTimer(0)
	defer timer.Stop()
	links := time.NewTicker(linkCheck)
	defer links.Stop()
	for {
		inputs := l.inputs
		if l.controller == nil && !l.otherLeads() {
			inputs = nil // inputs wait until the batch is committed
		}
		select {
		case <-l.options.Replica.LeaderChanged():
		case <-ctx.Done():
			return nil
		case lead := <-l.options.Replica.Leadership():
			l.onLeadership(lead)
		case input := <-inputs:
			l.verifyLeadership(ctx)
			l.decide(input)
		case <-l.probes:
			continue // Alive has its answer
		case r := <-l.results:
			l.finish(r)
		case <-timer.C:
			l.verifyLeadership(ctx)
			l.wake()
		case <-links.C:
			l.verifyLeadership(ctx)
			if l.controller != nil {
				l.controller.now = l.clock.Load().Now()
				l.controller.checkLinks()
			}
		}
		l.proceed(timer)
	}
}

// decide handles an input and those that have come meanwhile.
func (l *Leader) decide(input func(*controller)) {
	if l.controller == nil {
		input(nil) // another server leads
		return
	}
	l.controller.now = l.clock.Load().Now()
	input(l.controller)
	for range maxBatch - 1 {
		select {
		case input := <-l.inputs:
			input(l.controller)
		default:
			return
		}
	}
}

// wake runs when a deadline of the controller has come, or after the pause that follows a failed
// commit.
func (l *Leader) wake() {
	switch {
	case l.controller != nil:
		l.controller.now = l.clock.Load().Now()
	case l.lead.Leader && !l.busy && time.Since(l.confirmed) <= replica.LeaseTimeout:
		l.startLeading()
	}
}

// proceed advances the controller, carries out effects that are due, starts the next commit, and
// sets the timer for the next deadline.
func (l *Leader) proceed(timer *time.Timer) {
	c := l.controller
	if c == nil {
		if l.lead.Leader {
			timer.Reset(retryDelay)
		}
		return
	}
	c.advance()
	l.act()
	if !l.busy && l.worthCommitting() {
		l.commit()
	}
	if at := l.nextWake(); at != 0 {
		timer.Reset(time.Duration(at - l.clock.Load().Now()))
	} else {
		timer.Stop()
	}
}

// act carries out effects that wait for nothing any more. That can cause more effects.
func (l *Leader) act() {
	for {
		ready := l.controller.due(l.committed)
		if len(ready) == 0 {
			return
		}
		for i := range ready {
			l.perform(&ready[i])
		}
	}
}

func (l *Leader) perform(e *effect) {
	switch {
	case e.message != nil:
		e.link.Send(e.message)
	case e.close:
		e.link.Close(e.reason)
	case e.watcher != nil:
		e.watcher.deliver(e.event)
	case e.call != nil:
		e.call(nil)
	default:
		l.logger.Info(e.line, e.fields...)
	}
}
