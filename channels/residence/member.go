package residence

import "slices"

// stage is the progress of a context in leaving its channel.
type stage uint8

const (
	stageHere     stage = iota // its process drives, or the agent in its place
	stageWanted                // the agent waits for the driver lock
	stageFlushing              // the agent keeps the lock, sends nothing more, and waits for answers
	stageFlushed               // all has been answered
	stageAway                  // it refuses all that comes
)

// Member is a context as the machine knows it. The zero value with a Context is one that the
// machine does not have yet.
type Member struct {
	Context Context
	stage   stage
	tries   int  // in a row, of taking the lock when nobody waited for it
	present bool // the machine has it
	settles bool // it left or came back, and Settle must complete that

	// Made once, so that orders allocate nothing.
	revoke, advance, settle func()
}

// Kept reports whether the agent has the driver lock beyond a turn.
func (c *Member) Kept() bool { return c.stage >= stageFlushing }

// Wanted reports whether the agent waits for the lock, which a live holder does not release.
func (c *Member) Wanted() bool { return c.stage == stageWanted }

// Away reports whether the context refuses what comes.
func (c *Member) Away() bool { return c.stage == stageAway }

func (c *Member) guarded(f func()) {
	if c.present {
		c.Context.Guarded(f)
	}
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
