package metrics

import (
	"cmp"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/scored/api/scorev1"
	"slices"
)

// AddToJob adds the measured times of a job's switches to the shares of its nodes.
func (s *Switches) AddToJob(r *scorev1.GetJobResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.MeasuredSinceNanos = s.sinceNanos()
	id := r.GetJob().GetId()
	for key, d := range s.groups {
		if key.job != id {
			continue
		}
		i := slices.IndexFunc(r.Nodes, func(n *scorev1.NodeShare) bool { return n.GetNode() == key.node })
		if i < 0 {
			i = len(r.Nodes)
			r.Nodes = append(r.Nodes, &scorev1.NodeShare{Node: key.node})
		}
		share := r.Nodes[i]
		share.Total, share.Flush, share.Flushes = d.times(ctxswitch.MeasureTotal), d.times(ctxswitch.MeasureFlush), d.flushes()
	}
	slices.SortFunc(r.Nodes, func(x, y *scorev1.NodeShare) int { return cmp.Compare(x.GetNode(), y.GetNode()) })
}

// AddToTop adds the measured times of switches: for each job over all its nodes, and for the
// cluster.
func (s *Switches) AddToTop(r *scorev1.GetTopResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(s.now().Add(-joinWindow))
	toRunning, skew := s.joined()
	r.ToRunning, r.Skew, r.SinceNanos = stepTimes("to_running", &toRunning), stepTimes("skew", &skew), s.sinceNanos()
	jobs := make(map[uint64]*scorev1.TopJob, len(r.GetJobs()))
	for _, j := range r.GetJobs() {
		jobs[j.GetJobId()] = j
	}
	type sums struct{ total, flush histogram.Histogram }
	all := make(map[uint64]*sums)
	for key, d := range s.groups {
		if jobs[key.job] == nil {
			continue
		}
		sum := all[key.job]
		if sum == nil {
			sum = new(sums)
			all[key.job] = sum
		}
		mergeInto(&sum.total, d.steps[ctxswitch.MeasureTotal])
		mergeInto(&sum.flush, d.steps[ctxswitch.MeasureFlush])
	}
	for id, sum := range all {
		jobs[id].Total, jobs[id].Flush = timesOf(ctxswitch.MeasureTotal, &sum.total), timesOf(ctxswitch.MeasureFlush, &sum.flush)
	}
}

func mergeInto(to, h *histogram.Histogram) {
	if h != nil {
		to.Merge(h)
	}
}

// times returns a measure's distribution, or nil if it never occurred.
func (d *distributions) times(m ctxswitch.Measure) *scorev1.StepTimes { return timesOf(m, d.steps[m]) }

func timesOf(m ctxswitch.Measure, h *histogram.Histogram) *scorev1.StepTimes {
	if h == nil || h.Count() == 0 {
		return nil
	}
	return stepTimes(ctxswitch.MeasureTable[m].Name, h)
}

// flushes counts how contexts left their channels; nil if none ever did.
func (d *distributions) flushes() *scorev1.Flushes {
	if d.clean+d.cutOff+d.heldUp == 0 {
		return nil
	}
	return &scorev1.Flushes{Clean: d.clean, CutOff: d.cutOff, Held: d.heldUp}
}

// Measures returns the distributions of one job on one node, in the order of
// ctxswitch.MeasureTable, and how its contexts left their channels.
func (s *Switches) Measures(job uint64, node string) (steps []*scorev1.StepTimes, flushes *scorev1.Flushes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.groups[groupKey{node, job}]
	if d == nil {
		return nil, nil
	}
	for m := range ctxswitch.MeasureTable {
		if t := d.times(ctxswitch.Measure(m)); t != nil {
			steps = append(steps, t)
		}
	}
	return steps, d.flushes()
}
