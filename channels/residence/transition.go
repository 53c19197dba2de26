package residence

import "time"

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
