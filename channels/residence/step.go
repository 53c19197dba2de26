package residence

import "time"

// Step is an order to a job's contexts when its gang leaves the node or comes back. Each step
// includes what the steps before it would have done.
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

// Outcome is the result of a step.
type Outcome struct {
	Step   Step
	Number uint64        // as it was ordered
	Took   time.Duration // since the step began
	// Contexts counts the contexts that took part.
	Contexts int
	// Flushed and CutOff count, after Save, the contexts that left with nothing in the network, and
	// those that left with something unanswered.
	Flushed, CutOff int
	// Held counts the contexts whose process did not release the driver lock. They are left as they
	// are, and follow the others once it does.
	Held int
}
