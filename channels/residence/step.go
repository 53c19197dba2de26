package residence

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
