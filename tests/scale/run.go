package scale

import (
	"errors"
	"fmt"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"time"
)

const (
	// settling is how long the nodes' clocks are compared before the first plan: some heartbeats.
	settling = 3 * time.Second
)

// Config says what is modelled. All but Scarce and Seed must be set.
type Config struct {
	Nodes      int
	Mix        Mix
	Slice      time.Duration
	Boundaries int // that are looked at
	Costs      *Costs
	Scarce     bool // the channels of two gangs do not fit on a node
	Seed       uint64
}

// Flushes count contexts that left the network: with everything answered, cut off, and prevented by
// the context's process.
type Flushes struct {
	Clean  uint64 `json:"clean"`
	CutOff uint64 `json:"cut_off"`
	Held   uint64 `json:"held"`
}

// share is the part of them that was clean; 1 if there are none.
func (f Flushes) share() float64 {
	if f == (Flushes{}) {
		return 1
	}
	return float64(f.Clean) / float64(f.Clean+f.CutOff+f.Held)
}

// Result is what was seen.
type Result struct {
	// Node is from the planned instant to a node's running, for every node and boundary.
	Node histogram.Histogram
	// Gang is the same for the last node of each gang: from then on it runs whole.
	Gang histogram.Histogram
	// Terms are what the time of each gang's last node consists of, on average.
	Terms Terms
	// Lost is the share of a slice in which a gang does not run whole: from the order to stop on
	// its first node until the last node of the next gang runs. A broken slice is lost whole.
	Lost float64
	// Broken counts gangs and slices in which a node did not make the switch before the next was
	// due.
	Broken uint64
	// Clean is the share of contexts that left the network with everything answered; 1 if all stay.
	Clean float64
	// Missed counts the nodes of these, Superseded switches that were broken off by the next.
	Missed, Superseded uint64

	// Change is from the instant at which a new plan, with another gang on all its nodes, comes
	// into force, to that gang's last node running. LatePlans is the share of the nodes that had
	// the plan later.
	Change    time.Duration
	LatePlans float64
	// PlanWork is how long the leader works for that plan, and Lead how far ahead it takes effect.
	PlanWork, Lead time.Duration
}

// ErrConfig means that a configuration means nothing.
var ErrConfig = errors.New("scale: nodes, slice, boundaries and costs are needed")

// Run models a cluster. Every gang has a rank on each of its nodes, and all have been prepared; the
// rotation goes round for the boundaries asked for, then a new plan comes.
func Run(c Config) (*Result, error) {
	if c.Nodes < 1 || c.Slice <= 0 || c.Boundaries < 2 || c.Costs == nil {
		return nil, ErrConfig
	}
	k, err := newCluster(&c)
	if err != nil {
		return nil, err
	}
	k.replan(settling.Nanoseconds())
	s := newSeen(&c, k)
	first := k.plans()

	change := s.origin + int64(c.Boundaries)*c.Slice.Nanoseconds() + c.Slice.Nanoseconds()/2
	s.newcomer = ctxswitch.JobID(k.next)
	if err := k.add(1); err != nil {
		return nil, err
	}
	k.replan(change)
	second := k.plans()
	s.changed = k.rotation.Origin

	end := s.changed + c.Slice.Nanoseconds() + int64(c.Nodes)*c.Costs.PlanPerNode.Nanoseconds()
	w := newWorld(c.Costs, c.Scarce)
	for i := range k.ids {
		n := newNode(w, c.Seed, uint64(i))
		n.record = func(r *ctxswitch.Record) { s.take(i, n, r) }
		for _, row := range second[i].Rows {
			for _, job := range row.Jobs {
				n.has(job)
			}
		}
		at := arrival(change, i, c.Costs.PlanPerNode, w.message.draw(n.random))
		n.expect(settling.Nanoseconds()+w.message.draw(n.random), first[i])
		n.expect(at, second[i])
		n.runTo(end)
		s.leave(n, at > s.changed)
	}
	result := s.result(k)
	result.PlanWork, result.Lead = time.Duration(c.Nodes)*c.Costs.PlanPerNode, time.Duration(s.changed-change)
	return result, nil
}

// String is a line for people.
func (r *Result) String() string {
	return fmt.Sprintf("node %v %v %v, gang %v %v %v, lost %.3g %%, clean %.3g %%, broken %d, plan: last %v, late %.3g %%",
		r.Node.Quantile(0.5), r.Node.Quantile(0.99), r.Node.Max(), r.Gang.Quantile(0.5), r.Gang.Quantile(0.99), r.Gang.Max(),
		100*r.Lost, 100*r.Clean, r.Broken, r.Change, 100*r.LatePlans)
}
