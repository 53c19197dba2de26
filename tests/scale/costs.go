package scale

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
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
	// Steps are the measures of every switch of a node.
	Steps ctxswitch.Measures
	// Last is from the planned instant to the last of the two nodes running, to compare the model
	// with.
	Last histogram.Histogram
	// Message is half of a heartbeat's round trip: the way of a message between leader and agent.
	Message histogram.Histogram
	// Flushes of contexts: with everything answered, cut off, and prevented by the context's
	// process.
	Clean, CutOff, Held uint64
	// PlanPerNode is the leader's work to make, encode and send a plan, for each node.
	PlanPerNode time.Duration
}

// file is how costs are written: distributions in the encoding of package histogram.
type file struct {
	Machine          string            `json:"machine"`
	Date             string            `json:"date"`
	SliceNanos       int64             `json:"slice_nanos"`
	PlanPerNodeNanos int64             `json:"plan_per_node_nanos"`
	Clean            uint64            `json:"flushes_clean"`
	CutOff           uint64            `json:"flushes_cut_off"`
	Held             uint64            `json:"flushes_held"`
	Distributions    map[string][]byte `json:"distributions"`
}

const (
	lastName    = "last_of_two"
	messageName = "message"
)

// Recorded returns the costs that come with the program.
func Recorded() (*Costs, error) { return Parse(recorded) }

// Parse reads costs as Write has written them. The error wraps ErrCosts.
func Parse(data []byte) (*Costs, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCosts, err)
	}
	c := &Costs{
		Machine: f.Machine, Date: f.Date, Slice: time.Duration(f.SliceNanos), PlanPerNode: time.Duration(f.PlanPerNodeNanos),
		Clean: f.Clean, CutOff: f.CutOff, Held: f.Held,
	}
	for name, h := range c.distributions() {
		if err := h.UnmarshalBinary(f.Distributions[name]); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrCosts, name, err)
		}
	}
	return c, c.check()
}

// distributions are all of them by the name that they have in a file.
func (c *Costs) distributions() map[string]*histogram.Histogram {
	all := map[string]*histogram.Histogram{lastName: &c.Last, messageName: &c.Message}
	for i := range c.Steps {
		all[ctxswitch.MeasureTable[i].Name] = &c.Steps[i]
	}
	return all
}

// check finds out whether a model can be made of the costs.
func (c *Costs) check() error {
	for name, h := range c.distributions() {
		if h.Count() == 0 {
			return fmt.Errorf("%w: of %s nothing was measured", ErrCosts, name)
		}
	}
	if c.Clean+c.CutOff+c.Held == 0 || c.PlanPerNode <= 0 {
		return fmt.Errorf("%w: flushes or the work for a plan are missing", ErrCosts)
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
		Clean: c.Clean, CutOff: c.CutOff, Held: c.Held, Distributions: make(map[string][]byte),
	}
	for name, h := range c.distributions() {
		f.Distributions[name], _ = h.MarshalBinary() // it never fails
	}
	data, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCosts, err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o644) //nolint:gosec // a file of the sources
}
