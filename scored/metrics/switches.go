package metrics

import (
	"cmp"
	"math"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/scored/api/scorev1"
	"slices"
	"sync"
	"time"
)

const (
	// maxGroups bounds the pairs of job and node with distributions, of some 30 KiB each. The
	// latest pairs are kept.
	maxGroups = 1024
	// maxNodes bounds the nodes with distributions: as many as a cluster may have.
	maxNodes = 4096
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
func (d *distributions) merge(report *scorev1.SwitchReport_Steps) {
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
	told int64 // cluster nanoseconds of the latest
	at   time.Time
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
func (s *Switches) Add(node string, report *scorev1.SwitchReport) {
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

// advance records the latest switch that the node has reported.
func (s *Switches) advance(node string, boundaries []*scorev1.SwitchReport_Boundary, now time.Time) {
	p, known := s.reporters[node]
	if len(boundaries) == 0 || !known && len(s.reporters) >= maxNodes {
		return
	}
	p.at = now
	for _, b := range boundaries {
		p.told = max(p.told, b.GetPlannedNanos())
	}
	s.reporters[node] = p
}

// reportedByAll returns the instant up to which all nodes that switch have reported. With one node
// it returns the earliest instant: others may switch too and not have reported yet.
func (s *Switches) reportedByAll(before time.Time) int64 {
	told := int64(math.MaxInt64)
	for node, p := range s.reporters {
		if p.at.Before(before) {
			delete(s.reporters, node)
			continue
		}
		told = min(told, p.told)
	}
	if len(s.reporters) < 2 {
		return math.MinInt64
	}
	return told
}

// distributionsOf returns a group, a new one if needed; nil if there are too many nodes.
func (s *Switches) distributionsOf(key groupKey) *distributions {
	if key.job == 0 {
		if s.nodes[key.node] == nil && len(s.nodes) < maxNodes {
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

// join adds a node's report of a planned switch.
func (s *Switches) join(report *scorev1.SwitchReport_Boundary, now time.Time) {
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
	told := s.reportedByAll(before)
	s.arrivals = slices.DeleteFunc(s.arrivals, func(b *boundary) bool {
		if b.planned > told && !b.since.Before(before) {
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

// Response returns the requested distributions: of every node and every job on it, unless the
// request names a job or a node.
func (s *Switches) Response(request *scorev1.SwitchMetricsRequest) *scorev1.SwitchMetricsResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(s.now().Add(-joinWindow))
	toRunning, skew := s.joined()
	response := &scorev1.SwitchMetricsResponse{
		Skew:             stepTimes("skew", &skew, request.GetHistograms()),
		ToRunning:        stepTimes("to_running", &toRunning, request.GetHistograms()),
		MissedBoundaries: s.missed,
		LateFreezes:      s.late,
		SinceNanos:       s.sinceNanos(),
	}
	for _, key := range s.keys() {
		if request.GetNode() != "" && request.GetNode() != key.node || request.GetJobId() != 0 && request.GetJobId() != key.job {
			continue
		}
		d := s.get(key)
		group := &scorev1.SwitchMetricsResponse_Group{Node: key.node, JobId: key.job, Flushes: d.flushes()}
		for i, h := range d.steps {
			if h != nil {
				group.Steps = append(group.Steps, stepTimes(ctxswitch.MeasureTable[i].Name, h, request.GetHistograms()))
			}
		}
		response.Groups = append(response.Groups, group)
	}
	return response
}

// sinceNanos returns the instant of the first report, 0 without any. Earlier measurements went to
// another server, or to one that has ended.
func (s *Switches) sinceNanos() int64 {
	if s.since.IsZero() {
		return 0
	}
	return s.since.UnixNano()
}

// keys returns all groups by node, each node's whole before its jobs.
func (s *Switches) keys() []groupKey {
	keys := slices.Clone(s.recent)
	for node := range s.nodes {
		keys = append(keys, groupKey{node: node})
	}
	slices.SortFunc(keys, func(x, y groupKey) int {
		return cmp.Or(cmp.Compare(x.node, y.node), cmp.Compare(x.job, y.job))
	})
	return keys
}

func (s *Switches) get(key groupKey) *distributions {
	if key.job == 0 {
		return s.nodes[key.node]
	}
	return s.groups[key]
}

// Quantiles in responses, beside the maximum.
const (
	median = 0.5
	high   = 0.99
)

func stepTimes(name string, h *histogram.Histogram, whole bool) *scorev1.StepTimes {
	times := &scorev1.StepTimes{
		Step: name, Count: h.Count(), SumNanos: int64(min(h.Sum(), 1<<63-1)),
		MedianNanos: h.Quantile(median).Nanoseconds(), P99Nanos: h.Quantile(high).Nanoseconds(), MaxNanos: h.Max().Nanoseconds(),
	}
	if whole {
		times.Histogram, _ = h.MarshalBinary() // it never fails
	}
	return times
}
