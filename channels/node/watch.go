package node

import (
	"score/channels"
	"score/channels/abi"
	"score/channels/residence"
	"score/flowctl"
	"time"
)

// Times of watching and driving, in nanoseconds.
const (
	// tick is the time between two checks of a context whose process is awake, and of a driven one
	// whose socket never stays empty. Checks fall on its multiples, so that one wake-up serves all
	// contexts.
	tick = int64(time.Millisecond)
	// calm is the same for a process that was seen to drive at calmChecks checks in a row: it
	// polls, and a wake-up of the agent takes some 20 us of its processor.
	calm = 4 * tick
	// calmChecks is longer than programs usually communicate between two computations.
	calmChecks = 8
	// steady is the same for a process that was seen to drive at steadyChecks checks in a row. So
	// the agent takes over late by at most half of the time for which the process was seen to poll.
	steady       = 16 * tick
	steadyChecks = 2 * calmChecks
	// maxInterval bounds the time between two checks of a context whose process drives again by
	// itself after computing for a while ([Context.adaptInterval]): a step of many simulations. If
	// it then computes for longer, the agent takes over after 2 to 3 such intervals.
	maxInterval = 8 * tick
	// soonBack is how long after the agent took over a process that drives again would have been in
	// time to do so itself.
	soonBack = 2 * maxInterval
	// maxPausedCheck is the longest time for which an unchanged, calm context is checked while its
	// job is frozen: with slices of 10 ms that is cheaper than a wake-up at each thaw.
	maxPausedCheck = 2 * steady
	// sleepingInterval is the same for a process that sleeps in Wait, where it drives itself.
	sleepingInterval = 16 * tick
	// armedAwakeInterval and armedAsleepInterval are the times between two checks of an armed
	// context whose process is awake or asleep: it may have sent something that was lost, and gone
	// back to computing. Without a loss nothing waits for these checks.
	armedAwakeInterval  = 16 * tick
	armedAsleepInterval = 128 * tick
	// maxIdleChecks is the number of checks in a row without a section of the process after which
	// the agent drives: a single one may fall between two sections.
	maxIdleChecks = 2
)

// Modes of a context, as Status says them.
const (
	ModeLocal   = "local"   // all peers are on this node; nobody drives
	ModeWatched = "watched" // the process drives; the agent checks that it still does
	ModeDriven  = "driven"  // the agent drives, and again within a millisecond
	ModeArmed   = "armed"   // the agent drives when something comes or is due
	ModePaused  = "paused"  // its job's processes stand still; what comes waits in its socket
	ModeDamaged = "damaged" // given up
)

const (
	modeLocal uint32 = iota
	modeWatched
	modeDriven
	modeArmed
	modePaused
)

var modeNames = [...]string{
	modeLocal: ModeLocal, modeWatched: ModeWatched, modeDriven: ModeDriven, modeArmed: ModeArmed, modePaused: ModePaused,
}

// watch is what the loop knows about a context.
type watch struct {
	number        int32 // of its events; 0: the loop does not have it
	place         int   // in loop.waiting; -1: not there
	listed        bool  // its socket is in the epoll; a datagram to it costs its sender a lookup there
	armed         bool  // and wakes once
	readable      bool  // something came to the armed socket
	due           int64 // while armed: when to drive though nothing came
	drives        uint32
	idleChecks    int    // in a row without a section of the process
	idleLimit     int    // after how many of them the agent drives
	driven        int    // checks in a row with one, up to steadyChecks
	interval      int64  // between two checks, from tick to maxInterval
	tookOver      int64  // when the agent began to drive
	servedBefore  uint64 // what served was then
	paused        int64  // for how long its job was seen to stand still, up to maxPausedCheck
	holding       bool   // the agent has the driver lock
	late          bool   // the process slept, and something lay there that the agent had to take
	refused       int    // times in a row that the lock was not given
	spuriousWakes int    // times in a row that the socket woke the loop for nothing
	settled       func()
	pendingDeaths []pendingDeath
	ending        ending
	residing      residence.Member
	rests         bool // its job's processes stand still
}

// adopt takes a new context.
func (l *loop) adopt(c *Context) {
	if now, ok := l.list(c); ok {
		c.job.residence.Add(now, &c.residing)
		l.makeRoom()
	}
}

// list gives a context its number; it is false if it has one, or cannot be used.
func (l *loop) list(c *Context) (now int64, ok bool) {
	if c.number != 0 || c.damaged.Load() {
		return 0, false
	}
	// After 2^31 contexts numbers come again.
	for l.last++; l.last < eventFirst || l.byEvent[l.last] != nil; l.last++ {
	}
	c.number, c.place, c.interval = l.last, -1, tick
	l.byEvent[c.number] = c
	now = channels.Nanos()
	l.watchAgain(c, now, tick)
	c.residing.Context = resident{c}
	return now, true
}

// drop removes contexts from the loop for good.
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
	l.disarm(c)
	delete(l.byEvent, c.number)
	add(&l.gone, c.driver.Port().Stats())
	c.number = 0
	if c.settled != nil {
		c.settled()
		c.settled = nil
	}
	c.job.residence.Drop(&c.residing)
	l.progress(c.job)
}

// abandon drops a context that cannot be used.
func (l *loop) abandon(c *Context, err error) {
	c.abandon(err)
	if c.holding {
		_ = channels.Guard(c.img.AllowDriving) // the rank may still use the lock
		c.holding = false
	}
	l.detach(c)
	_ = c.driver.Close() // from now on nothing comes in
}

// scheduleNow makes the loop check a context now: its process ended.
func (l *loop) scheduleNow(c *Context) {
	if c.number != 0 {
		c.mode.Store(modeDriven)
		l.at(c, channels.Nanos())
	}
}

// checkContext checks a context whose time has come, and drives it if its process does not.
func (l *loop) checkContext(c *Context, now int64) {
	if c.damaged.Load() {
		l.abandon(c, nil)
		return
	}
	readable := c.readable
	c.readable, c.armed = false, c.armed && !readable
	if c.job.residence.Off() {
		l.checkOff(c, now, readable)
		return
	}
	if l.leaveAlone(c, now) {
		return
	}
	if c.paused > 0 {
		c.paused = 0
		if drives := c.img.Drives(); drives == c.drives {
			l.watchAgain(c, now, calm) // it may have gone on just now
			return
		}
	}
	l.watchOrDrive(c, now, readable)
}

// watchOrDrive drives a context if its process does not, and otherwise only checks it again later.
func (l *loop) watchOrDrive(c *Context, now int64, readable bool) {
	moved := c.noteDrives(now)
	asleep := c.img.Sleeping() && c.img.State() == abi.StateOpen
	switch {
	case c.settled != nil || len(c.pendingDeaths) > 0:
		l.drive(c, turn{began: now, readable: readable, asleep: asleep})
	case moved && asleep:
		l.watchAgain(c, now, sleepingInterval)
	case moved:
		l.watchAgain(c, now, c.pace())
	case c.mode.Load() == modeArmed && !readable && now < c.due:
		l.at(c, min(c.due, c.nextCheck(now, asleep)))
	case c.mode.Load() == modeArmed && asleep && !c.late:
		// What woke the loop wakes the process as well: it has the first turn.
		l.watchAgain(c, now, tick)
	case c.mode.Load() == modeWatched && c.idleChecks+1 < c.idleLimit:
		c.idleChecks++
		l.at(c, nextTick(now, c.interval))
	default:
		if c.mode.Load() == modeWatched {
			c.tookOver, c.servedBefore = now, c.served()
		}
		l.drive(c, turn{began: now, readable: readable, asleep: asleep})
	}
}

// noteDrives reports whether the process has driven since the last check.
func (c *Context) noteDrives(now int64) (moved bool) {
	drives := c.img.Drives()
	moved = drives != c.drives
	c.drives = drives
	if !moved {
		c.driven = 0
		return false
	}
	c.adaptInterval(now)
	c.late, c.refused = false, 0
	c.driven = min(c.driven+1, steadyChecks)
	return true
}

// watchAgain leaves the driving to the process and checks again after step.
func (l *loop) watchAgain(c *Context, now, step int64) {
	l.disarm(c)
	c.idleChecks, c.idleLimit = 0, maxIdleChecks
	if step >= sleepingInterval {
		c.idleLimit = 1 // one check after so long a time is enough
	}
	c.mode.Store(modeWatched)
	l.at(c, nextTick(now, step))
}

// pace returns the time between two checks of a context whose process drives.
func (c *Context) pace() int64 {
	switch {
	case c.driven >= steadyChecks:
		return steady
	case c.driven >= calmChecks:
		return max(calm, c.interval)
	default:
		return c.interval
	}
}

// adaptInterval doubles the interval if the process drives again after a check without, or soon
// after the agent took over in vain: it computes for some milliseconds between its exchanges, where
// each wake-up of the agent takes its processor. The interval is the shortest again after a longer
// absence, or if frames or peers waited for the agent.
func (c *Context) adaptInterval(now int64) {
	mode := c.mode.Load()
	drove := mode == modeDriven || mode == modeArmed
	switch {
	case drove && (now-c.tookOver > soonBack || c.served() != c.servedBefore):
		c.interval = tick
	case drove, mode == modeWatched && c.idleChecks > 0:
		c.interval = min(2*c.interval, maxInterval)
	}
}

// served counts what is not done without the agent while the process computes: frames that it
// sends, and credits that peers wait for.
func (c *Context) served() uint64 { return c.driver.Frames() + c.img.Counter(abi.CreditsGranted) }

// nextTick returns a multiple of the step, at least one step less a tick away:
// all contexts are checked together.
func nextTick(now, step int64) int64 { return ((now+step-tick)/step + 1) * step }
