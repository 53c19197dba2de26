package residence

import (
	"slices"
	"time"
)

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
