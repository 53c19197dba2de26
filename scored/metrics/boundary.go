package metrics

import (
	"math"
	"score/ctxswitch/histogram"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"slices"
	"time"
)

// boundaryKey identifies one planned switch of the cluster.
type boundaryKey struct {
	version, round uint64
	row            uint32
}

// boundary joins the nodes' reports of one planned switch.
type boundary struct {
	key         boundaryKey
	since       time.Time
	planned     int64 // cluster nanoseconds
	first, last int64 // when the new jobs ran on the first and the last node
	nodes       int
}

// progress is the latest planned switch that a node has reported.
type progress struct {
	planned int64 // cluster nanoseconds of the latest
	at      time.Time
}

// advance records the latest switch that the node has reported.
func (s *Switches) advance(node string, boundaries []*agentpb.SwitchReport_Boundary, now time.Time) {
	p, known := s.reporters[node]
	if len(boundaries) == 0 || !known && len(s.reporters) >= jobmap.MaxNodes {
		return
	}
	p.at = now
	for _, b := range boundaries {
		p.planned = max(p.planned, b.GetPlannedNanos())
	}
	s.reporters[node] = p
}

// reportedByAll returns the instant up to which all nodes that switch have reported. With one node
// it returns the earliest instant: others may switch too and not have reported yet.
func (s *Switches) reportedByAll(before time.Time) int64 {
	reported := int64(math.MaxInt64)
	for node, p := range s.reporters {
		if p.at.Before(before) {
			delete(s.reporters, node)
			continue
		}
		reported = min(reported, p.planned)
	}
	if len(s.reporters) < 2 {
		return math.MinInt64
	}
	return reported
}

// join adds a node's report of a planned switch.
func (s *Switches) join(report *agentpb.SwitchReport_Boundary, now time.Time) {
	if len(report.GetJobsIn()) == 0 || report.GetRunningNanos() < report.GetPlannedNanos() {
		return // nothing began to run
	}
	key := boundaryKey{report.GetPlanVersion(), report.GetRound(), report.GetRowPosition()}
	b := s.pending[key]
	if b == nil {
		if len(s.arrivals) >= maxPending {
			s.count(s.arrivals[0])
			delete(s.pending, s.arrivals[0].key)
			s.arrivals = slices.Delete(s.arrivals, 0, 1)
		}
		b = &boundary{key: key, since: now, planned: report.GetPlannedNanos(), first: report.GetRunningNanos()}
		s.pending[key] = b
		s.arrivals = append(s.arrivals, b)
	}
	b.nodes++
	b.first = min(b.first, report.GetRunningNanos())
	b.last = max(b.last, report.GetRunningNanos())
}

// settle counts the switches for which no more reports are expected.
func (s *Switches) settle(before time.Time) {
	reported := s.reportedByAll(before)
	s.arrivals = slices.DeleteFunc(s.arrivals, func(b *boundary) bool {
		if b.planned > reported && !b.since.Before(before) {
			return false
		}
		s.count(b)
		delete(s.pending, b.key)
		return true
	})
}

func (s *Switches) count(b *boundary) { b.addTo(&s.toRunning, &s.skew) }

func (b *boundary) addTo(toRunning, skew *histogram.Histogram) {
	toRunning.Record(time.Duration(b.last - b.planned))
	if b.nodes > 1 {
		skew.Record(time.Duration(b.last - b.first))
	}
}

// joined returns the distributions including pending switches, as far as these are known.
func (s *Switches) joined() (toRunning, skew histogram.Histogram) {
	toRunning, skew = s.toRunning, s.skew
	for _, b := range s.arrivals {
		b.addTo(&toRunning, &skew)
	}
	return toRunning, skew
}
