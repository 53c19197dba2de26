package residence

import (
	"slices"
	"time"
)

const (
	// claimPatience bounds the wait for all driver locks of a job together: a process in the middle
	// of a section may have lost its processor to the agent.
	claimPatience = 200 * time.Microsecond
	// minShare is the shortest wait for one of them: longer than any section.
	minShare = 50 * time.Microsecond
	// MaxStrikes bounds how often the time for revoking, and that for flushing, is halved.
	MaxStrikes = 5
	// claimRetry is the wait until the next try while the step's end is awaited.
	claimRetry = int64(20 * time.Microsecond)
	// retryFirst is the wait until the next try when nobody waits for it, doubled with each up to
	// retryDoublings times, 64 ms.
	retryFirst     = int64(time.Millisecond)
	retryDoublings = 6
	// minFlush is the shortest time for a flush: with less, one late answer would leave no time
	// for a complete flush ever again.
	minFlush = int64(300 * time.Microsecond)
	// flushGap is the shortest time between two checks of a context that is flushed, unless
	// something comes.
	flushGap = int64(50 * time.Microsecond)
	// answersGap is the delay after which a context that has just left is driven once more, for
	// answers that are due.
	answersGap = int64(time.Millisecond)
)

// Machine tracks how a job's contexts on one node leave their channels and come back. The zero
// value is a job that is on, without contexts.
type Machine struct {
	members []*Member
	round   []*Member // a copy for loops, since a context that cannot be used drops out
	off     bool      // the job's processes must not drive
	leaving bool      // the job is being removed: nothing is switched any more
	step    Step
	number  uint64
	now     int64 // of the order, or the settling, that is being carried out
	by      int64
	began   int64
	awaited bool // the order's end must still be reported
	strikes int  // switches in a row at which a process did not release the lock, up to MaxStrikes
	silent  int  // the same, at which not all was answered in time
	saved   Outcome

	following bool // the order is being carried out, and cannot be over yet
}

// Off reports whether the job's processes must not drive.
func (m *Machine) Off() bool { return m.off }

// Awaited reports whether the end of an order is still to be reported, see Outcome.
func (m *Machine) Awaited() bool { return m.awaited }

// Contexts is how many the machine has.
func (m *Machine) Contexts() int { return len(m.members) }

// Deadline returns the instant at which the order is over at the latest.
func (m *Machine) Deadline() int64 { return m.by }

// Order begins a step at the instant now; revoking and flushing end at the instant by at the
// latest. It includes what earlier steps would have done, and replaces the order before it. The
// caller calls Settle some time after Outcome, unless another order comes first. Order allocates
// nothing.
func (m *Machine) Order(now int64, step Step, number uint64, by int64) {
	m.Settle(now)
	switch { // the next gang does not wait at every switch for a process that never releases the lock, or a peer that never answers
	case by <= now:
	case step == Revoke:
		by = now + (by-now)>>m.strikes
	case step == Flush:
		by = now + min(by-now, max((by-now)>>m.silent, minFlush))
	}
	m.step, m.number, m.by, m.began, m.awaited = step, number, by, now, true
	m.saved = Outcome{}
	if !m.leaving {
		m.off = step != Load
		m.follow(now)
	}
}

// Settle does the work that nobody waits for when contexts leave and come back: system calls, and
// work for each peer.
func (m *Machine) Settle(now int64) {
	if !slices.ContainsFunc(m.members, func(c *Member) bool { return c.settles }) {
		return
	}
	m.now = now
	for _, c := range m.all() {
		c.guarded(c.settle)
	}
}

// all is a copy of the members, for one caller at a time.
func (m *Machine) all() []*Member {
	m.round = append(m.round[:0], m.members...)
	return m.round
}

func (m *Machine) becomeResident(c *Member, now int64) {
	if !c.settles {
		return
	}
	c.settles = false
	c.Context.Follow()
	if c.stage == stageAway {
		c.Context.Await(now + answersGap)
		return
	}
	c.Context.Leave()
	c.Context.Back(now)
}

// Release ends all switching of a job that is being removed: its ranks' last messages must still
// arrive. The caller then calls Settle, as with Order.
func (m *Machine) Release(now int64) {
	m.off, m.leaving, m.step = false, true, Load
	m.follow(now)
}

// Add adds a context that was made on its channel; if the job is off, it follows the others.
func (m *Machine) Add(now int64, c *Member) {
	m.add(c)
	if m.off {
		c.Context.Guarded(func() { m.advance(c, now); m.becomeResident(c, now) })
	}
}

func (m *Machine) add(c *Member) {
	c.present, c.stage, c.tries, c.settles = true, stageHere, 0, false
	c.revoke = c.Context.Revoke
	c.advance = func() { m.advance(c, m.now) }
	c.settle = func() { m.becomeResident(c, m.now) }
	m.members = append(m.members, c)
}

// Adopt adds a context that a former agent left in any state. Taking its lock repairs what was left
// half done. If the processes stand still and nothing was ordered yet, the agent keeps the lock,
// and the context stays as near to its channel as it is; otherwise it becomes resident and its
// process's again.
func (m *Machine) Adopt(now int64, c *Member, still bool) {
	m.add(c)
	if still && m.step == 0 {
		m.off, m.step = true, Revoke
	}
	c.Context.Guarded(func() {
		switch {
		case m.off:
			m.advance(c, now)
			m.becomeResident(c, now)
		case c.Context.Take(0, now) != nil: // its process is in a section
			c.Context.Restore()
			c.Context.Back(now)
		default:
			c.stage = stageAway // or less: a flush that was begun must end, too
			m.bringBack(c, now)
			m.becomeResident(c, now)
		}
	})
}

// Drop removes a context from the machine.
func (m *Machine) Drop(c *Member) {
	c.present, c.stage = false, stageHere
	m.members = slices.DeleteFunc(m.members, func(other *Member) bool { return other == c })
}

// follow brings all contexts to where the step wants them. All are revoked before the first is
// waited for.
func (m *Machine) follow(now int64) {
	m.following, m.now = true, now
	all := m.all()
	if m.off {
		for _, c := range all {
			c.guarded(c.revoke)
		}
	}
	for _, c := range all {
		c.guarded(c.advance)
	}
	m.following = false
}

// advance brings a context to where the step wants it, as far as that goes now.
func (m *Machine) advance(c *Member, now int64) {
	if !m.off {
		m.bringBack(c, now)
		return
	}
	if !c.Kept() && !m.claim(c, now) {
		return
	}
	if m.step == Save && c.stage != stageAway {
		m.suspend(c, now)
	}
}

// claim takes the driver lock, keeps it and begins to flush: a flush always follows a revoke, and
// answers come while the machine waits for the other locks. While a live holder does not release
// the lock, the context is left alone.
func (m *Machine) claim(c *Member, now int64) bool {
	if c.Context.Take(m.patience(c)) != nil { // which leaves the lock revoked
		c.stage = stageWanted
		wait := claimRetry
		if !m.awaited {
			wait = retryFirst << min(c.tries, retryDoublings)
			c.tries++
		}
		c.Context.CheckAt(now + wait)
		return false
	}
	c.tries = 0
	if c.Context.Away() {
		c.stage = stageAway // as a former agent left it
		c.Context.CheckAt(now)
		return true
	}
	c.stage = stageFlushing
	c.Context.Flush(now)
	if m.step < Save {
		m.flush(c, now)
	}
	return true
}

// patience returns how long to wait for the next driver lock, and until when. A holder that keeps
// the lock beyond that is stopped or hostile, and the agent has others to serve.
func (m *Machine) patience(c *Member) (share time.Duration, until int64) {
	if !m.awaited || m.step != Revoke && c.stage == stageWanted {
		return 0, m.began
	}
	return max(minShare, claimPatience/time.Duration(len(m.members))), m.began + int64(claimPatience)
}

// flush drives a context that waits for answers, until it has them.
func (m *Machine) flush(c *Member, now int64) {
	after := c.Context.Drive(now)
	if c.Context.Flushed() {
		c.stage = stageFlushed
	}
	until := c.Context.Due()
	if m.awaited {
		until = min(until, m.by)
	}
	c.Context.Await(max(until, after+flushGap))
}

// suspend takes a context from its channel.
func (m *Machine) suspend(c *Member, now int64) {
	if c.stage == stageFlushed || c.Context.Flushed() {
		m.saved.Flushed++
	} else {
		m.saved.CutOff++
	}
	c.Context.Suspend(now)
	c.stage, c.settles = stageAway, true
}

// bringBack gives a context back to its process, which has it after settle.
func (m *Machine) bringBack(c *Member, now int64) {
	was := c.stage
	c.stage = stageHere
	switch was {
	case stageHere:
		return
	case stageWanted:
		c.Context.Restore()
		c.Context.Back(now)
	default:
		c.Context.Resume(now)
		c.settles = true
	}
}

// Check handles a context of a job that is off, when its check is due or something came for it. It
// reports whether the agent should drive it like any other whose process does not.
func (m *Machine) Check(now int64, c *Member) (drive bool) {
	if !c.Kept() {
		m.advance(c, now)
		m.becomeResident(c, now)
	}
	switch {
	case !c.Kept():
		return false
	case c.stage == stageFlushing:
		m.flush(c, now)
		return false
	default:
		return true
	}
}

// Outcome returns, once, the outcome of an order that has ended.
func (m *Machine) Outcome(now int64) (out Outcome, over bool) {
	if !m.awaited || m.following || now < m.by && m.busy() {
		return Outcome{}, false
	}
	m.awaited = false
	out = m.saved
	out.Step, out.Number, out.Took = m.step, m.number, time.Duration(now-m.began)
	out.Contexts = len(m.members)
	for _, c := range m.members {
		if c.stage == stageWanted {
			out.Held++
		}
	}
	switch out.Step {
	case Flush:
		m.silent = strike(m.silent, m.busy())
	case Save:
		m.strikes = strike(m.strikes, out.Held > 0)
	default:
	}
	return out, true
}

// strike counts failures in a row, up to MaxStrikes.
func strike(before int, again bool) int {
	if !again {
		return 0
	}
	return min(before+1, MaxStrikes)
}

// busy reports whether the step waits for a context.
func (m *Machine) busy() bool {
	return slices.ContainsFunc(m.members, func(c *Member) bool {
		return m.step == Revoke && c.stage == stageWanted || m.step == Flush && c.stage == stageFlushing
	})
}
