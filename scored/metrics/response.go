package metrics

import (
	"cmp"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/scored/api/scorev1"
	"slices"
)

// Response returns the requested distributions: of every node and every job on it, unless the
// request names a job or a node.
func (s *Switches) Response(request *scorev1.SwitchMetricsRequest) *scorev1.SwitchMetricsResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(s.now().Add(-joinWindow))
	times := stepTimes
	if request.GetHistograms() {
		times = wholeStepTimes
	}
	toRunning, skew := s.joined()
	response := &scorev1.SwitchMetricsResponse{
		Skew:             times("skew", &skew),
		ToRunning:        times("to_running", &toRunning),
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
				group.Steps = append(group.Steps, times(ctxswitch.MeasureTable[i].Name, h))
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

func stepTimes(name string, h *histogram.Histogram) *scorev1.StepTimes {
	return &scorev1.StepTimes{
		Step: name, Count: h.Count(), SumNanos: int64(min(h.Sum(), 1<<63-1)),
		MedianNanos: h.Quantile(median).Nanoseconds(), P99Nanos: h.Quantile(high).Nanoseconds(), MaxNanos: h.Max().Nanoseconds(),
	}
}

// wholeStepTimes is like stepTimes, with the distribution itself.
func wholeStepTimes(name string, h *histogram.Histogram) *scorev1.StepTimes {
	times := stepTimes(name, h)
	times.Histogram, _ = h.MarshalBinary() // it never fails
	return times
}
