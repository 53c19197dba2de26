package scale

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"slices"
	"time"
)

// ErrCosts is what every error about measured costs wraps.
var ErrCosts = errors.New("the measured costs cannot be used")

// recorded is renewed by `make bench ONLY=scale RECORD=tests/scale/costs.json`.
//
//go:embed costs.json
var recorded []byte

// Costs are what was measured on a real cluster of two nodes.
type Costs struct {
	Machine string        // on which
	Date    string        // as 2006-01-02
	Slice   time.Duration // of the gangs that took turns
	// Staying are the switches of gangs whose contexts stay on their channels, Scarce those of
	// gangs whose channels do not fit together, so that each leaves the network with its gang.
	Staying, Scarce Switches
	// Message is half of a heartbeat's round trip: the way of a message between leader and agent.
	Message histogram.Histogram
	// Timer is how late a real-time thread wakes that does nothing else, beside a busy program: the
	// machine's own part of MeasureWake.
	Timer histogram.Histogram
	// PlanPerNode is the leader's work to make, encode and send a plan, for each node.
	PlanPerNode time.Duration
}

// Switches are what was measured of two gangs that take turns on two nodes.
type Switches struct {
	// Steps are the measures of every switch of a node.
	Steps ctxswitch.Measures
	// Last is from the planned instant to the last of the two nodes running, to compare the model
	// with.
	Last histogram.Histogram
	// Flushes of contexts that left the network; of contexts that stay there are none.
	Flushes Flushes
}

// file is how costs are written: distributions in the encoding of package histogram.
type file struct {
	Machine          string            `json:"machine"`
	Date             string            `json:"date"`
	SliceNanos       int64             `json:"slice_nanos"`
	PlanPerNodeNanos int64             `json:"plan_per_node_nanos"`
	Message          []byte            `json:"message"`
	Timer            []byte            `json:"timer"`
	Staying          map[string][]byte `json:"staying"`
	Scarce           map[string][]byte `json:"scarce"`
	Flushes          Flushes           `json:"flushes_scarce"`
}

const lastName = "last_of_two"

// needed are the steps without whose times the model cannot do: with contexts that stay, and
// besides when they leave.
var (
	needed = []ctxswitch.Measure{ctxswitch.MeasureWake, ctxswitch.MeasureStop, ctxswitch.MeasureGo}
	leaves = []ctxswitch.Measure{ctxswitch.MeasureRevoke, ctxswitch.MeasureFlush, ctxswitch.MeasureSave, ctxswitch.MeasureLoad}
)

// Recorded returns the costs that come with the program.
func Recorded() (*Costs, error) { return Parse(recorded) }

// Parse reads costs as Write has written them. The error wraps ErrCosts.
func Parse(data []byte) (*Costs, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCosts, err)
	}
	c := &Costs{Machine: f.Machine, Date: f.Date, Slice: time.Duration(f.SliceNanos), PlanPerNode: time.Duration(f.PlanPerNodeNanos)}
	c.Scarce.Flushes = f.Flushes
	err := errors.Join(c.Message.UnmarshalBinary(f.Message), c.Timer.UnmarshalBinary(f.Timer), c.Staying.unmarshal(f.Staying), c.Scarce.unmarshal(f.Scarce))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCosts, err)
	}
	return c, c.check()
}

// distributions are all of them by the name that they have in a file.
func (s *Switches) distributions() map[string]*histogram.Histogram {
	all := map[string]*histogram.Histogram{lastName: &s.Last}
	for i := range s.Steps {
		all[ctxswitch.MeasureTable[i].Name] = &s.Steps[i]
	}
	return all
}

// unmarshal reads what marshal has made; a step that is missing was never taken.
func (s *Switches) unmarshal(from map[string][]byte) error {
	for name, h := range s.distributions() {
		data, ok := from[name]
		if !ok {
			continue
		}
		if err := h.UnmarshalBinary(data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (s *Switches) marshal() map[string][]byte {
	to := make(map[string][]byte)
	for name, h := range s.distributions() {
		if h.Count() > 0 {
			to[name], _ = h.MarshalBinary() // it never fails
		}
	}
	return to
}

// lacks returns the name of a distribution that is empty and must not be.
func (s *Switches) lacks(steps []ctxswitch.Measure) (name string, lacks bool) {
	if s.Last.Count() == 0 {
		return lastName, true
	}
	for _, m := range steps {
		if s.Steps[m].Count() == 0 {
			return ctxswitch.MeasureTable[m].Name, true
		}
	}
	return "", false
}

// check finds out whether a model can be made of the costs.
func (c *Costs) check() error {
	if name, lacks := c.Staying.lacks(needed); lacks {
		return fmt.Errorf("%w: of %s with contexts that stay nothing was measured", ErrCosts, name)
	}
	if name, lacks := c.Scarce.lacks(slices.Concat(needed, leaves)); lacks {
		return fmt.Errorf("%w: of %s with scarce channels nothing was measured", ErrCosts, name)
	}
	if c.Message.Count() == 0 || c.Timer.Count() == 0 || c.Scarce.Flushes == (Flushes{}) || c.PlanPerNode <= 0 {
		return fmt.Errorf("%w: messages, timers, flushes or the work for a plan are missing", ErrCosts)
	}
	return nil
}

// Write writes the costs to a file, which Parse reads. The error wraps ErrCosts.
func (c *Costs) Write(path string) error {
	if err := c.check(); err != nil {
		return err
	}
	f := file{
		Machine: c.Machine, Date: c.Date, SliceNanos: c.Slice.Nanoseconds(), PlanPerNodeNanos: c.PlanPerNode.Nanoseconds(),
		Staying: c.Staying.marshal(), Scarce: c.Scarce.marshal(), Flushes: c.Scarce.Flushes,
	}
	f.Message, _ = c.Message.MarshalBinary() // it never fails
	f.Timer, _ = c.Timer.MarshalBinary()
	data, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCosts, err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o644) //nolint:gosec // a file of the sources
}
