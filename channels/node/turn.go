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
	// roundsMost and turnMost bound what is done for a context at a time, so that a
	// flood to one leaves the others their turns.
	roundsMost = 8
	turnMost   = int64(200 * time.Microsecond)
	// rest is how many times longer than it was driven, by the clock and at most turnMost, a
	// context is then left alone, if it wants to be driven at once again: it gets a twentieth of
	// the loop's time.
	rest = 19
	// gapBusy and gapIdle are the shortest times between two turns of a context,
	// after one in which something came, and after one in which nothing did.
	gapBusy = int64(100 * time.Microsecond)
	gapIdle = tick
)

// drive takes the lock and drives the context; then it waits for the network, for
// what is due, or for its next turn.
func (l *loop) drive(c *Context, now int64, heard, asleep bool) {
	if err := c.take(); err != nil {
		l.at(c, now+tick<<min(c.refused, lockBackoffs))
		c.mode.Store(modeDriven)
		c.refused++
		return
	}
	c.refused = 0
	l.drives++
	c.notifyDeaths()
	progress := rounds(c, now)
	if progress && asleep {
		c.late = true
	}
	next := c.end(channels.Nanos())
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
	after := channels.Nanos()
	next = min(next, due)
	if c.settled != nil {
		next = min(next, after+tick)
	}
	l.wait(c, progress, heard, asleep, next, after, after+min(after-now, turnMost)*rest)
}

// take takes the driver lock. If its holder, who lives, does not let go, he may go on.
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
// has what came acknowledged.
func rounds(c *Context, start int64) (progress bool) {
	now := start
	for range roundsMost {
		if !c.driver.Drive(now) {
			break
		}
		progress = true
		if now = channels.Nanos(); now-start > turnMost {
			break
		}
	}
	if due := c.driver.Due(); progress && due <= now+int64(answerSoon) {
		c.driver.Drive(max(due, channels.Nanos()))
	}
	return progress
}

// wait decides when the context that was driven is looked at next: at next, but not
// before earliest.
func (l *loop) wait(c *Context, progress, heard, asleep bool, next, now, earliest int64) {
	c.vain++
	if progress || !heard {
		c.vain = 0
	}
	switch {
	case progress:
		// More will come: looking once more is cheaper than the way through epoll.
		c.mode.Store(modeDriven)
		l.at(c, max(min(next, now+tick), now+gapBusy, earliest))
	case c.vain > 1 || !l.arm(c):
		// An error that the socket keeps would wake the loop again and again.
		c.mode.Store(modeDriven)
		l.at(c, max(min(next, now+tick<<min(c.vain, lockBackoffs)), now+gapIdle, earliest))
	default:
		c.mode.Store(modeArmed)
		c.due = max(next, now+gapIdle, earliest)
		l.at(c, min(c.due, c.nextCheck(now, asleep)))
	}
}

// nextCheck returns when to look whether an armed context's process drives again.
func (c *Context) nextCheck(now int64, asleep bool) int64 {
	switch {
	case c.img.Away() || c.img.State() != abi.StateOpen:
		return flowctl.NoDeadline // whoever brings it back says so; a dead one does not come back
	case asleep:
		return nextTick(now, peek)
	default:
		return nextTick(now, glance)
	}
}

// arm has the next datagram wake the loop, and reports whether the system lets it.
func (l *loop) arm(c *Context) bool {
	if c.armed {
		return true
	}
	op := unix.EPOLL_CTL_ADD
	if c.listed {
		op = unix.EPOLL_CTL_MOD
	}
	if l.control(op, c.fd, c.number, unix.EPOLLIN|unix.EPOLLONESHOT) != nil {
		return false // no memory: it is looked at instead
	}
	c.armed, c.listed = true, true
	return true
}

// disarm takes the socket out of the epoll: while a process drives, whoever sends to it would go
// through there for each datagram, which takes a tenth of the message's time.
func (l *loop) disarm(c *Context) {
	if c.listed {
		_ = l.control(unix.EPOLL_CTL_DEL, c.fd, c.number, 0) // it is there
	}
	c.armed, c.listed = false, false
}

// pendingDeath is a rank on another node that ended, of which the context is still to be told.
type pendingDeath struct {
	rank uint32
	how  uint8 // or howWithdrawn
}

// howWithdrawn: the name of its context was given up, by whomever.
const howWithdrawn = 0

// postDeath tells a context that a rank on another node ended, as soon as the lock is to be had.
func (l *loop) postDeath(c *Context, of pendingDeath) {
	if c.number != 0 && !slices.Contains(c.pendingDeaths, of) {
		c.pendingDeaths = append(c.pendingDeaths, of)
		l.at(c, channels.Nanos())
	}
}

// notifyDeaths tells the context; under the lock.
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
