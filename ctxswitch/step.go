package ctxswitch

import "time"

// Step is a machine's position in a switch.
type Step uint8

// The steps in their order. Steady is the state between switches.
const (
	Steady Step = iota
	Revoke
	Stop
	Flush
	Save
	Load
	Go
)

// stepCount is the number of states, Steady among them.
const stepCount = int(Go) + 1

// The timeouts of the steps. After a timeout the switch goes on without the answer: a gang must not
// lose its slice because a process of another gang is slow. That is safe, for the reason given at
// each.
const (
	// RevokeTimeout is the time of a hundred critical sections of a driver lock. A holder that has
	// not released it by then is stopped with the lock in the next step.
	RevokeTimeout = time.Millisecond
	// StopTimeout is some hundred times the duration of a freeze (10 to 12 us), and half of a short
	// slice (10 ms). The kernel continues with a late freeze, so the two jobs share CPUs only until
	// it is done.
	StopTimeout = 5 * time.Millisecond
	// LooseStopTimeout replaces StopTimeout if nothing waits for the stop. A process stops when it
	// next gets its CPU, which the switching thread has taken. While the incoming job computes,
	// Linux may delay that by a few ticks of 4 ms, more on a busy machine.
	LooseStopTimeout = 50 * time.Millisecond
	// FlushTimeout is some ten round trips of a local network. Messages still in flight are refused
	// where they arrive, and sent again.
	FlushTimeout = 2 * time.Millisecond
	// SaveTimeout bounds a change of pointers.
	SaveTimeout = time.Millisecond
	// LoadTimeout bounds a change of pointers.
	LoadTimeout = time.Millisecond
	// networkPart bounds the timeouts of the steps from revoke to load by 1/networkPart of the
	// slice that begins: with peers that never answer, short slices would otherwise consist of
	// waiting.
	networkPart = 4
	// minNetworkBound is the least such bound: some round trips.
	minNetworkBound = 400 * time.Microsecond
	// GoTimeout is some hundred times the duration of a thaw (30 us).
	GoTimeout = 5 * time.Millisecond
)

// steps is the table of the steps.
var steps = [stepCount]struct {
	name    string
	effect  EffectKind
	timeout time.Duration
	// network means that the step concerns the contexts of a job; a job without contexts has no
	// work in it.
	network bool
}{
	Steady: {name: "steady"},
	Revoke: {"revoke", EffectRevoke, RevokeTimeout, true},
	Stop:   {"stop", EffectFreeze, StopTimeout, false},
	Flush:  {"flush", EffectFlush, FlushTimeout, true},
	Save:   {"save", EffectSave, SaveTimeout, true},
	Load:   {"load", EffectLoad, LoadTimeout, true},
	Go:     {"go", EffectThaw, GoTimeout, false},
}

// String returns the step's name.
func (s Step) String() string {
	if s > Go {
		return "unknown"
	}
	return steps[s].name
}

// StepSet is a set of steps.
type StepSet uint8

// Has reports whether s is in the set.
func (set StepSet) Has(s Step) bool { return set&(1<<s) != 0 }

// add adds s to the set.
func (set *StepSet) add(s Step) { *set |= 1 << s }
