package sim

import (
	"score/channels/abi"
	"score/channels/drive"
	"score/channels/link"
	"score/channels/residence"
	"score/flowctl"
	"time"
)

// Times of a node's agent, in ns.
const (
	// agentLate bounds the delay of an agent's check when something comes for a context that it
	// keeps.
	agentLate = int64(50 * time.Microsecond)
	// checkGap is the shortest time between two checks without an event.
	checkGap = int64(100 * time.Microsecond)
	// undriven is the wait before the next check of a context that nobody could drive.
	undriven = int64(time.Millisecond)
	// rounds bounds what an agent does for a context at a time.
	rounds = 8
)

// sharedContext is a context of package drive on a node whose agent switches: process and agent
// have it by the driver lock, and package residence decides about its leaving and coming back.
type sharedContext struct {
	*driveContext
	end     *end
	member  residence.Member
	lookAt  int64 // the agent's look in the queue; 0: none
	retryAt int64 // not driven before: nobody could
	refused bool  // the process could not drive, and what it has to send waits
	grabbed bool  // the process is in a section that does not end yet
	clean   bool  // nothing was in flight when it left its channel
}

// NewSharedContext makes a sharedContext.
func NewSharedContext(s Spec) Context { return newSharedContext(s) }

func newSharedContext(s Spec) *sharedContext {
	c := &sharedContext{driveContext: newDriveContext(s)}
	c.shared = c
	c.member.Context = residenceContext{c}
	s.Drive.Bind(c)
	return c
}

func (c *sharedContext) host() *host { return c.end.part.host }

// off reports whether the context is the agent's: its job is not on, or leaving.
func (c *sharedContext) off() bool { return c.host().alive && c.end.part.residence.Off() }

// alone reports whether the context stays on its channel and its agent leaves it alone, since the
// job's processes are to stand still.
func (c *sharedContext) alone() bool {
	p := c.end.part
	return c.host().alive && p.paused && !p.released && !p.residence.Off()
}

// processRuns reports whether the process could drive, if the lock is free.
func (c *sharedContext) processRuns() bool {
	return !c.end.gone() && !c.end.stopped && !c.absent && !c.grabbed && !c.end.ruined
}

// rests reports whether nobody drives the context: it is left alone, and its process cannot.
func (c *sharedContext) rests() bool { return c.alone() && !c.processRuns() }

func (c *sharedContext) asProcess(section func(*drive.Driver)) bool {
	if !c.processRuns() || !c.process.Enter() {
		c.refused = true
		return false
	}
	section(c.process)
	c.process.Leave()
	c.after(c.process)
	return true
}

func (c *sharedContext) asAgent(section func(*drive.Driver)) bool {
	h := c.host()
	if !h.alive || c.alone() {
		return false
	}
	if !c.member.Kept() {
		h.act("a turn")
		if err := c.agent.Take(0); err != nil {
			if !c.end.part.residence.Off() {
				c.img.Restore()
			}
			return false
		}
		defer c.given()
		defer c.agentLeaves()
	}
	section(c.agent)
	c.after(c.agent)
	return true
}

// agentLeaves ends a section of an agent that lives.
func (c *sharedContext) agentLeaves() {
	if c.host().alive && !c.host().killed {
		c.agent.Leave()
	}
}

// given lets the process go on with what it could not do.
func (c *sharedContext) given() {
	if c.refused {
		c.refused = false
		c.end.unblock(c.Rank)
	}
}

func (c *sharedContext) drive(now int64) {
	section := func(d *drive.Driver) { d.Drive(now) }
	if c.dice.chance(c.stays) {
		c.byAgent = !c.byAgent
	}
	driven := false
	if c.byAgent || !c.processRuns() {
		driven = c.asAgent(section)
	}
	if !driven {
		driven = c.asProcess(section)
	}
	c.lateAt = now + c.dice.span(1, maxIdle)
	if !driven || c.end.ruined {
		c.retryAt = now + undriven
	}
}

func (c *sharedContext) Output(now int64, net Network) {
	if len(c.socket.list) > 0 {
		if c.off() {
			residenceContext{c}.CheckAt(now + c.dice.span(0, agentLate))
		} else if now >= c.retryAt && !c.rests() && (now >= c.lateAt || c.dice.chance(c.prompt)) {
			c.drive(now)
		}
	}
	c.emit(net)
}

func (c *sharedContext) Deadline() int64 {
	if c.off() || c.rests() {
		return flowctl.NoDeadline // its agent looks, or nobody
	}
	at := c.img.Due()
	if len(c.socket.list) > 0 {
		at = min(at, c.lateAt)
	}
	if c.ended > 0 && c.ended <= len(announcements) {
		at = min(at, c.endedAt+announcements[c.ended-1])
	}
	return max(at, c.retryAt)
}

func (c *sharedContext) Tick(now int64) {
	if c.off() || c.rests() || now < c.retryAt {
		return
	}
	c.drive(now)
	if c.ended > 0 && c.ended <= len(announcements) && now >= c.endedAt+announcements[c.ended-1] {
		c.asAgent(func(d *drive.Driver) {
			c.ended++
			d.Announce(c.how)
		})
	}
}

// check is the agent's check of a context of a job that is off.
func (c *sharedContext) check(now int64) {
	if c.end.part.residence.Check(now, &c.member) {
		residenceContext{c}.Drive(now)
		if due := c.agent.Due(); due != flowctl.NoDeadline {
			residenceContext{c}.CheckAt(max(due, now+checkGap))
		}
	}
}

// PeerDied returns false while nobody can have the lock.
func (c *sharedContext) PeerDied(_ int64, rank uint16) bool {
	return c.asAgent(func(d *drive.Driver) { d.PeerEnded(uint32(rank), link.EndDied) })
}

func (c *sharedContext) Flushed(to uint16) bool { return c.ledger.peers[to].flushed() }

// Leave does what a process does that closes its end. If it cannot get the lock, its agent reports
// the end.
func (c *sharedContext) Leave(now int64) {
	c.asProcess(func(d *drive.Driver) { d.Announce(link.EndClosed) })
	c.finish(now, abi.StateClosed, link.EndClosed)
}
