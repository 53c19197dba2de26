package residence

import "time"

// Step is what can be ordered of a job's contexts when its gang leaves the node or comes back.
// Each takes in what the steps before it would have done.
type Step uint8

// The steps.
const (
	// Revoke takes the driver locks, so that the processes send nothing more.
	Revoke Step = iota + 1
	// Flush drives the contexts until all that they sent is answered.
	Flush
	// Save makes them refuse what comes (away), with no timer running.
	Save
	// Load makes them resident: what was refused or unsent is sent, and the processes
	// may drive again.
	Load
)

// Outcome says how a step went.
type Outcome struct {
	Step   Step
	Number uint64        // as it was ordered
	Took   time.Duration // from the beginning with it
	// Contexts is how many had part.
	Contexts int
	// Flushed and CutOff count, with Save, those that left with nothing in the network, and
	// those of which something was still unanswered.
	Flushed, CutOff int
	// Held counts those whose process did not let go of the driver lock. They are left as
	// they are, and follow the others as soon as it does.
	Held int
}
