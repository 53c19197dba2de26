package metrics

import (
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"slices"
	"sync"
	"time"
)

const (
	// maxGroups bounds the pairs of job and node with distributions, of some 30 KiB each. The
	// latest pairs are kept.
	maxGroups = 1024
	// joinWindow is how long a switch waits for the reports of other nodes, which come once a
	// second, and after how long without reports a node is forgotten.
	joinWindow = 3 * time.Second
	// maxPending bounds the switches that wait: three seconds with slices of 1 ms.
	maxPending = 4096
)

// distributions holds the measured steps (nil: it has not occurred yet), and counts how contexts
// left their channels.
type distributions struct {
	steps                 [ctxswitch.MeasureCount]*histogram.Histogram
	clean, cutOff, heldUp uint64
}

// merge adds a report. It skips damaged parts.
func (d *distributions) merge(report *agentpb.SwitchReport_Steps) {
	f := report.GetFlushes()
	d.clean, d.cutOff, d.heldUp = d.clean+f.GetClean(), d.cutOff+f.GetCutOff(), d.heldUp+f.GetHeld()
	encoded := report.GetHistograms()
	var received histogram.Histogram
	for i, data := range encoded[:min(len(encoded), len(d.steps))] {
		if len(data) > histogram.MaxEncoded || received.UnmarshalBinary(data) != nil || received.Count() == 0 {
			continue
		}
		if d.steps[i] == nil {
			d.steps[i] = new(histogram.Histogram)
		}
		d.steps[i].Merge(&received)
	}
}

// groupKey identifies a job on a node; job 0 is the whole node.
type groupKey struct {
	node string
	job  uint64
}

// Switches merges the agents' reports. Its methods may be called concurrently.
type Switches struct {
	now func() time.Time

	mu        sync.Mutex
	nodes     map[string]*distributions
	groups    map[groupKey]*distributions
	recent    []groupKey // groups, least recently reported first
	pending   map[boundaryKey]*boundary
	arrivals  []*boundary         // pending, oldest first
	reporters map[string]progress // nodes that have reported switches lately
	skew      histogram.Histogram
	toRunning histogram.Histogram
	missed    uint64
	late      uint64
	since     time.Time // of the first report; zero: none came yet
}

// NewSwitches returns an empty Switches.
func NewSwitches() *Switches {
	return &Switches{
		now:       time.Now,
		nodes:     make(map[string]*distributions),
		groups:    make(map[groupKey]*distributions),
		pending:   make(map[boundaryKey]*boundary),
		reporters: make(map[string]progress),
	}
}

// Add merges one report of a node.
func (s *Switches) Add(node string, report *agentpb.SwitchReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.since.IsZero() {
		s.since = now
	}
	for _, steps := range report.GetSteps() {
		if d := s.distributionsOf(groupKey{node, steps.GetJobId()}); d != nil {
			d.merge(steps)
		}
	}
	s.missed += report.GetMissedBoundaries()
	s.late += report.GetLateFreezes()
	for _, b := range report.GetBoundaries() {
		s.join(b, now)
	}
	s.advance(node, report.GetBoundaries(), now)
	s.settle(now.Add(-joinWindow))
}

// distributionsOf returns a group, a new one if needed; nil if there are too many nodes.
func (s *Switches) distributionsOf(key groupKey) *distributions {
	if key.job == 0 {
		if s.nodes[key.node] == nil && len(s.nodes) < jobmap.MaxNodes {
			s.nodes[key.node] = new(distributions)
		}
		return s.nodes[key.node]
	}
	if i := slices.Index(s.recent, key); i >= 0 {
		s.recent = append(slices.Delete(s.recent, i, i+1), key)
		return s.groups[key]
	}
	if len(s.recent) >= maxGroups {
		delete(s.groups, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.recent = append(s.recent, key)
	s.groups[key] = new(distributions)
	return s.groups[key]
}
