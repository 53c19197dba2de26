package pmi

import "fmt"

// Outcome is the result of a request.
type Outcome uint8

// Outcomes of a Fetch.
const (
	// Held: the answer comes as an event.
	Held Outcome = iota + 1
	// Found: the keys are there.
	Found
	// Missing: the keys are not there and will not come.
	Missing
	// TimedOut: the keys did not come within the request's timeout.
	TimedOut
)

// settled returns the outcome for a request that does not wait.
func settled(o Outcome) Outcome {
	if o == Held {
		return Missing
	}
	return o
}

func (o Outcome) String() string {
	switch o {
	case Held:
		return "held"
	case Found:
		return "found"
	case Missing:
		return "missing"
	case TimedOut:
		return "timed out"
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}
