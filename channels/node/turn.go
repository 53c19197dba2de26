package node

import (
	"score/channels"
	"score/channels/abi"
	"score/flowctl"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a turn; times in nanoseconds but the first.
const (
	// lockPatience bounds the wait for the driver lock: longer than any section.
	lockPatience = 50 * time.Microsecond
	// lockBackoffs bounds the doubling of the time until the next try, 64 ms.
	lockBackoffs = 6
	// maxRounds and maxTurn bound the work for a context at a time, so that a flood to one leaves
	// the others their turns.
	maxRounds = 8
	maxTurn   = int64(200 * time.Microsecond)
	// rest is how many times longer than it was driven (counting at most maxTurn) a context is
	// left alone if it wants to be driven again at once: it gets a twentieth of the loop's time.
	rest = 19
	// gapBusy and gapIdle are the shortest times between two turns of a context,
	// after one in which something came, and after one in which nothing did.
	gapBusy = int64(100 * time.Microsecond)
	gapIdle = tick
)

// turn is what is known of one turn of a context. Instants are those of channels.Nanos.
type turn struct {
	began, ended int64
	readable     bool  // the socket had something before the turn
	asleep       bool  // the process sleeps until a message comes
	progress     bool  // something came or went
	next         int64 // when something of the context is due
}

// earliest returns when the next turn may begin, so that the loop rests in proportion.
func (t *turn) earliest() int64 { return t.ended + min(t.ended-t.began, maxTurn)*rest }

// drive takes the lock and drives the context; then it waits for the network, for
// what is due, or for its next turn.
func (l *loop) drive(c *Context, t turn) {
	now := t.began
	if err := c.take(); err != nil {
		l.at(c, now+tick<<min(c.refused, lockBackoffs))
		c.mode.Store(modeDriven)
		c.refused++
		return
	}
	c.refused = 0
	l.drives++
	c.notifyDeaths()
	t.progress = rounds(c, now)
	if t.progress && t.asleep {
		c.late = true
	}
	t.next = c.end(channels.Nanos())
	settled := c.settled != nil && c.driver.Settled()
	due := c.driver.Due()
	c.leave()
	if err := c.driver.Damage(); err != nil {
		l.abandon(c, err)
		return
	}
	if settled {
		c.settled()
		c.settled = nil
	}
	t.ended = channels.Nanos()
	t.next = min(t.next, due)
	if c.settled != nil {
		t.next = min(t.next, t.ended+tick)
	}
	l.wait(c, &t)
}

// take takes the driver lock. If a live holder does not release it, the holder may go on.
func (c *Context) take() error {
	if c.residing.Kept() {
		return nil
	}
	if err := c.driver.Take(lockPatience); err != nil {
		if !c.job.residence.Off() {
			c.img.Restore()
		}
		return err
	}
	c.holding = true
	return nil
}

func (c *Context) leave() {
	if c.residing.Kept() {
		return
	}
	c.driver.Leave()
	c.holding = false
}

// rounds drives until nothing comes any more or the bounds of a turn are reached, and then
// acknowledges what came.
func rounds(c *Context, start int64) (progress bool) {
	now := start
	for range maxRounds {
		if !c.driver.Drive(now) {
			break
		}
		progress = true
		if now = channels.Nanos(); now-start > maxTurn {
			break
		}
	}
	if due := c.driver.Due(); progress && due <= now+int64(answerSoon) {
		c.driver.Drive(max(due, channels.Nanos()))
	}
	return progress
}

// wait decides when the driven context is checked next.
func (l *loop) wait(c *Context, t *turn) {
	c.spuriousWakes++
	if t.progress || !t.readable {
		c.spuriousWakes = 0
	}
	now, earliest := t.ended, t.earliest()
	switch {
	case t.progress:
		// More will come: polling once more is cheaper than the way through epoll.
		c.mode.Store(modeDriven)
		l.at(c, max(min(t.next, now+tick), now+gapBusy, earliest))
	case c.spuriousWakes > 1 || !l.arm(c):
		// An error that the socket keeps would wake the loop again and again.
		c.mode.Store(modeDriven)
		l.at(c, max(min(t.next, now+tick<<min(c.spuriousWakes, lockBackoffs)), now+gapIdle, earliest))
	default:
		c.mode.Store(modeArmed)
		c.due = max(t.next, now+c.interval, earliest)
		l.at(c, min(c.due, c.nextCheck(now, t.asleep)))
	}
}

// nextCheck returns when to check whether an armed context's process drives again.
func (c *Context) nextCheck(now int64, asleep bool) int64 {
	switch {
	case c.img.Away() || c.img.State() != abi.StateOpen:
		return flowctl.NoDeadline // a switch that brings it back sets the next check; a dead one does not come back
	case asleep:
		return nextTick(now, armedAsleepInterval)
	default:
		return nextTick(now, armedAwakeInterval)
	}
}

// arm makes the next datagram wake the loop, and reports whether the system allows it.
func (l *loop) arm(c *Context) bool {
	if c.armed {
		return true
	}
	op := unix.EPOLL_CTL_ADD
	if c.listed {
		op = unix.EPOLL_CTL_MOD
	}
	if l.control(op, c.fd, c.number, unix.EPOLLIN|unix.EPOLLONESHOT) != nil {
		return false // no memory: it is checked at intervals instead
	}
	c.armed, c.listed = true, true
	return true
}

// disarm takes the socket out of the epoll: while a process drives, each sender's datagram would go
// through the epoll, which takes a tenth of the message's time.
func (l *loop) disarm(c *Context) {
	if c.listed {
		_ = l.control(unix.EPOLL_CTL_DEL, c.fd, c.number, 0) // it is there
	}
	c.armed, c.listed = false, false
}

// pendingDeath is the end of a rank on another node that the context does not know of yet.
type pendingDeath struct {
	rank uint32
	how  uint8 // or howWithdrawn
}

// howWithdrawn: some socket gave up the name of its context.
const howWithdrawn = 0

// postDeath tells a context that a rank on another node ended, as soon as the lock is free.
func (l *loop) postDeath(c *Context, of pendingDeath) {
	if c.number != 0 && !slices.Contains(c.pendingDeaths, of) {
		c.pendingDeaths = append(c.pendingDeaths, of)
		l.at(c, channels.Nanos())
	}
}

// notifyDeaths tells the context; the caller holds the lock.
func (c *Context) notifyDeaths() {
	for _, b := range c.pendingDeaths {
		if b.how == howWithdrawn {
			c.driver.PeerWithdrawn(b.rank, channels.Nanos())
			continue
		}
		c.driver.PeerEnded(b.rank, b.how)
	}
	c.pendingDeaths = c.pendingDeaths[:0]
}
