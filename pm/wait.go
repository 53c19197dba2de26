package pm

import (
	"context"
	"score/channels"
	"score/channels/abi"
	"time"
)

const (
	// pollsPerClock is how often a waiting rank polls between two readings of the clock.
	pollsPerClock = 32
	// stuckSleep bounds a sleep while a message is half written: if its writer
	// dies, nobody wakes the reader.
	stuckSleep = time.Millisecond
)

// Wait waits until Receive has something to return: a message, or the news of a
// death; or until a bulk datagram comes, if the channel's Bulk expects one. It spins, then sleeps.
// The error is the context's, or ErrClosed.
func (c *Channel) Wait(ctx context.Context) error {
	if c.closed {
		return ErrClosed
	}
	return c.waitSleeping(ctx, abi.WaitMessage, c.pollAll, func() {})
}

// pollsPerClock returns the number of empty calls of poll that amount to pollsPerClock polls.
func (c *Channel) pollsPerClock() int {
	if c.net == nil {
		return pollsPerClock
	}
	return pollsPerClock / c.net.polls()
}

// Beside calls f without reporting its waits to the node: it is for a goroutine that waits beside a
// program that computes.
func (c *Channel) Beside(f func() error) error {
	c.beside = true
	defer func() { c.beside = false }()
	return f()
}

// sleepKind returns how a sleep is reported to the node: one that ends by itself is no sign of a
// deadlock.
func (c *Channel) sleepKind(ctx context.Context, how uint32) uint32 {
	if c.beside {
		return abi.WaitNone
	}
	if _, timed := ctx.Deadline(); timed {
		return abi.WaitTimed
	}
	return how
}

// WaitSpace waits until a message of size bytes to the rank would be taken, or
// until Receive has something to return: a program that only waited for space could
// wait for a peer that waits for it. Errors are those of GetSendBuffer and the context's.
func (c *Channel) WaitSpace(ctx context.Context, rank, size int) error {
	s, err := c.sender(rank)
	if err == errRemote { //nolint:errorlint // connect returns this very value
		return c.waitSpaceRemote(ctx, rank, size)
	}
	if err != nil {
		return err
	}
	if size > c.maxMessage {
		return ErrTooLarge
	}
	var failed error
	asleep := false
	check := func() bool {
		switch err := s.Ready(size); {
		case err == nil || c.pollAll():
			return true
		case asleep && s.ReceiverDead():
			failed = &PeerGoneError{Rank: rank}
			return true
		case err != channels.ErrFull: //nolint:errorlint // Ready returns this very value
			failed = c.sendError(err, rank)
			return true
		}
		return false
	}
	err = c.waitSleeping(ctx, abi.WaitSpace, check, func() {
		asleep = true
		s.AwaitSpace()
	})
	if err != nil {
		return err
	}
	return failed
}

// waitSleeping waits until check returns true; it calls announce before each sleep. how is what it
// waits for, abi.WaitMessage or abi.WaitSpace.
func (c *Channel) waitSleeping(ctx context.Context, how uint32, check func() bool, announce func()) error {
	start := time.Now()
	for {
		for range c.pollsPerClock() {
			if check() {
				return nil
			}
		}
		if time.Since(start) >= c.spin {
			return c.sleepUntil(ctx, how, check, announce)
		}
	}
}

func (c *Channel) sleepUntil(ctx context.Context, how uint32, check func() bool, announce func()) error {
	defer c.wakeOnDone(ctx)()
	c.napping = false
	c.img.BeginWait(c.sleepKind(ctx, how))
	defer c.img.EndWait()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		timeout := time.Hour
		if c.in.Stuck() {
			timeout = stuckSleep
		}
		announce()
		c.tally.Sleeps++
		c.showTally()
		c.showStack()
		c.sleep(timeout, func() bool { c.in.ResetIdle(); return check() || ctx.Err() != nil })
		c.in.ResetIdle()
		if check() {
			return nil
		}
	}
}

// wakeOnDone ends a sleep when the context ends. The function it returns undoes
// that; the channel's memory is not touched after it.
func (c *Channel) wakeOnDone(ctx context.Context) (undo func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		c.img.Wake()
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// pauser spaces the polls of a rank for something that comes soon.
type pauser struct {
	spin  time.Duration
	polls int
	since time.Time
}

func (p *pauser) pause() {
	if p.polls++; p.polls%pollsPerClock != 0 {
		return
	}
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if time.Since(p.since) >= p.spin {
		channels.Nap()
	}
}
