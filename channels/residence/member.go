package residence

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
