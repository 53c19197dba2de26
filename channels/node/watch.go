package node

import (
	"time"

	"score/channels"
	"score/channels/abi"
	"score/flowctl"

	"golang.org/x/sys/unix"
)

// Times of watching and driving, in nanoseconds.
const (
	// tick is how far two looks at a context are apart whose process is awake, and after
	// which time a driven one is looked at again if its socket never stays empty. Looks are
	// at its multiples, so that one wake-up does for all contexts.
	tick = int64(time.Millisecond)
	// doze is the same for a process that sleeps in Wait, where it drives itself.
	doze = 16 * tick
	// glance and peek are how far apart the looks at an armed context are whose process is
	// awake, and asleep: it may have sent something and gone back to computing, and that may be
	// lost. Without a loss nothing waits for them.
	glance = 16 * tick
	peek   = 128 * tick
	// looksMost is how many looks without a section of the process in between it takes
	// until the agent drives: with one a process might be caught between two.
	looksMost = 2
	// lockPatience bounds the wait for the driver lock: longer than any section.
	lockPatience = 50 * time.Microsecond
	// lockBackoffs bounds the doubling of the time until the next try, 64 ms.
	lockBackoffs = 6
	// roundsMost and turnMost bound what is done for a context at a time, so that a
	// flood to one leaves the others their turns.
	roundsMost = 8
	turnMost   = int64(200 * time.Microsecond)
	// rest is how many times longer than it was driven, by the clock and at most turnMost, a context
	// is then left alone, if it wants to be driven at once again: it gets a twentieth of the loop's time.
	rest = 19
	// gapBusy and gapIdle are the shortest times between two turns of a context,
	// after one in which something came, and after one in which nothing did.
	gapBusy = int64(100 * time.Microsecond)
	gapIdle = tick
)

// Modes of a context, as Status says them.
const (
	ModeLocal   = "local"   // all peers are on this node; nobody drives
	ModeWatched = "watched" // the process drives; the agent looks whether it still does
	ModeDriven  = "driven"  // the agent drives, and again within a millisecond
	ModeArmed   = "armed"   // the agent drives when something comes or is due
	ModeDamaged = "damaged" // given up
)

const (
	modeLocal uint32 = iota
	modeWatched
	modeDriven
	modeArmed
)

var modeNames = [...]string{modeLocal: ModeLocal, modeWatched: ModeWatched, modeDriven: ModeDriven, modeArmed: ModeArmed}

// watch is what the loop knows of a context.
type watch struct {
	number  int32 // of its events; 0: the loop does not have it
	place   int   // in loop.waiting; -1: not there
	armed   bool  // its socket is in the epoll, and wakes once
	heard   bool  // something came to the armed socket
	due     int64 // while armed: when to drive though nothing came
	drives  uint32
	looks   int  // without a section of the process
	holding bool // the agent has the driver lock
	late    bool // the process slept, and something lay there that the agent had to take
	refused int  // times in a row that the lock was not given
	vain    int  // times in a row that the socket woke the loop for nothing
	settled func()
	ending  ending
}

// adopt takes a new context.
func (l *loop) adopt(c *Context) {
	if c.number != 0 || c.damaged.Load() {
		return
	}
	// After 2^31 contexts numbers come again.
	for l.last++; l.last < eventFirst || l.byEvent[l.last] != nil; l.last++ {
	}
	c.number, c.place = l.last, -1
	if err := l.control(unix.EPOLL_CTL_ADD, c.fd, c.number, 0); err != nil {
		c.job.node.log("the agent cannot drive a context", c.job.key, c.rank, err)
		c.number = 0
		return
	}
	l.byEvent[c.number] = c
	l.watchAgain(c, channels.Nanos(), tick)
}

// drop lets go of contexts for ever.
func (l *loop) drop(all []*Context) {
	l.do(func() {
		for _, c := range all {
			l.detach(c)
		}
		l.forget(all)
	})
}

func (l *loop) detach(c *Context) {
	if c.number == 0 {
		return
	}
	l.at(c, flowctl.NoDeadline)
	// The process may still have the socket, so that closing it does not take it out.
	_ = l.control(unix.EPOLL_CTL_DEL, c.fd, c.number, 0)
	delete(l.byEvent, c.number)
	add(&l.gone, c.driver.Port().Stats())
	c.number = 0
	if c.settled != nil {
		c.settled()
		c.settled = nil
	}
}

// abandon gives a context up that cannot be used.
func (l *loop) abandon(c *Context, err error) {
	c.giveUp(err)
	if c.holding {
		_ = channels.Guard(c.img.Give) // the rank may have a use for the lock yet
		c.holding = false
	}
	l.detach(c)
	_ = c.driver.Close() // nothing more comes in that nobody takes
}

// hurry has a context looked at now: its process ended.
func (l *loop) hurry(c *Context) {
	if c.number != 0 {
		c.mode.Store(modeDriven)
		l.at(c, channels.Nanos())
	}
}

// visit looks at a context whose time has come, and drives it if its process does not.
func (l *loop) visit(c *Context, now int64) {
	if c.damaged.Load() {
		l.abandon(c, nil)
		return
	}
	heard := c.heard
	c.heard, c.armed = false, c.armed && !heard
	drives := c.img.Drives()
	moved := drives != c.drives
	c.drives = drives
	if moved {
		c.late, c.refused = false, 0
	}
	asleep := c.img.Asleep() && c.img.State() == abi.StateOpen
	switch {
	case c.settled != nil:
		l.drive(c, now, heard, asleep)
	case moved && asleep:
		l.watchAgain(c, now, doze)
	case moved:
		l.watchAgain(c, now, tick)
	case c.mode.Load() == modeArmed && !heard && now < c.due:
		l.at(c, min(c.due, c.glance(now, asleep)))
	case c.mode.Load() == modeArmed && asleep && !c.late:
		// What woke the loop wakes the process as well: it has the first turn.
		l.watchAgain(c, now, tick)
	case c.mode.Load() == modeWatched && c.looks+1 < looksMost:
		c.looks++
		l.at(c, nextTick(now, tick))
	default:
		l.drive(c, now, heard, asleep)
	}
}

// watchAgain leaves the driving to the process and looks again after a while.
func (l *loop) watchAgain(c *Context, now, step int64) {
	if c.armed {
		c.armed = false
		_ = l.control(unix.EPOLL_CTL_MOD, c.fd, c.number, 0) // it was added with success
	}
	c.looks = 0
	if step == doze {
		c.looks = looksMost - 1 // one look after so long a time says enough
	}
	c.mode.Store(modeWatched)
	l.at(c, nextTick(now, step))
}

// nextTick is a multiple of the step, at least one step away but for a tick: all
// contexts are looked at together.
func nextTick(now, step int64) int64 { return ((now+step-tick)/step + 1) * step }

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
	if err := c.driver.Take(lockPatience); err != nil {
		c.img.Restore()
		return err
	}
	c.holding = true
	return nil
}

func (c *Context) leave() {
	c.driver.Leave()
	c.holding = false
}

// rounds drives until nothing comes any more or the bounds of a turn are reached.
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
	case c.vain > 1:
		// An error that the socket keeps would wake the loop again and again.
		c.mode.Store(modeDriven)
		l.at(c, max(min(next, now+tick<<min(c.vain, lockBackoffs)), now+gapIdle, earliest))
	default:
		l.arm(c)
		c.due = max(next, now+gapIdle, earliest)
		l.at(c, min(c.due, c.glance(now, asleep)))
	}
}

// glance is when to look whether an armed context's process drives again.
func (c *Context) glance(now int64, asleep bool) int64 {
	switch {
	case c.img.Away() || c.img.State() != abi.StateOpen:
		return flowctl.NoDeadline // whoever brings it back says so; a dead one does not come back
	case asleep:
		return nextTick(now, peek)
	default:
		return nextTick(now, glance)
	}
}

func (l *loop) arm(c *Context) {
	c.mode.Store(modeArmed)
	if !c.armed {
		c.armed = true
		_ = l.control(unix.EPOLL_CTL_MOD, c.fd, c.number, unix.EPOLLIN|unix.EPOLLONESHOT) // it was added with success
	}
}

// bury tells a context that a rank on another node ended.
func (l *loop) bury(c *Context, rank uint32, how uint8) {
	if c.number == 0 || c.damaged.Load() {
		return
	}
	err := channels.Guard(func() {
		if c.take() != nil {
			return // told again, or by the network
		}
		c.driver.PeerEnded(rank, how)
		c.leave()
	})
	if err != nil {
		l.abandon(c, err)
	}
}
