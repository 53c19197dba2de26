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

// The timeouts of the steps. After its timeout a step ends without the missing answers: a gang must
// not lose its slice because a process of another gang is slow. Late answers do no harm, for the
// reasons given at the constants.
const (
	// RevokeTimeout is the time of a hundred critical sections under a driver lock. A process that
	// has not released the lock by then is stopped in the next step while it holds the lock.
	RevokeTimeout = time.Millisecond
	// StopTimeout is some hundred times the duration of a freeze (10 to 12 us), and half of a short
	// slice (10 ms). The kernel continues to freeze a late job; until it is done, the two jobs
	// share CPUs.
	StopTimeout = 5 * time.Millisecond
	// LooseStopTimeout replaces StopTimeout if nothing waits for the stop. A process stops when it
	// next gets its CPU, which the switching thread has taken. While the incoming job computes,
	// Linux may delay that by a few ticks of 4 ms, more on a busy machine.
	LooseStopTimeout = 50 * time.Millisecond
	// FlushTimeout is the time of some ten round trips in a local network. Messages that are still
	// in flight are refused on arrival and sent again.
	FlushTimeout = 2 * time.Millisecond
	// SaveTimeout bounds a change of pointers.
	SaveTimeout = time.Millisecond
	// LoadTimeout bounds a change of pointers.
	LoadTimeout = time.Millisecond
	// networkPart bounds the timeouts of revoke, flush, save and load to this part of the slice
	// that begins: with peers that never answer, slices shorter than the timeouts would be spent in
	// switches.
	networkPart = 4
	// minNetworkBound is the lowest such bound: some round trips.
	minNetworkBound = 400 * time.Microsecond
	// GoTimeout is some hundred times the duration of a thaw (30 us).
	GoTimeout = 5 * time.Millisecond
)

// steps is the table of the steps.
var steps = [stepCount]struct {
	name    string
	effect  EffectKind
	timeout time.Duration
	// network means that the step concerns a job's contexts; jobs without contexts take no part.
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

// add puts s into the set.
func (set *StepSet) add(s Step) { *set |= 1 << s }
