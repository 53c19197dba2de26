package metrics

import (
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"
	"testing/synctest"
	"time"
)

// steps encodes one duration per measure, the others empty.
func steps(t *testing.T, job uint64, measures map[ctxswitch.Measure]time.Duration) *agentpb.SwitchReport_Steps {
	t.Helper()
	s := &agentpb.SwitchReport_Steps{JobId: job}
	var all ctxswitch.Measures
	for m, d := range measures {
		all[m].Record(d)
	}
	for i := range all {
		data, err := all[i].MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		s.Histograms = append(s.Histograms, data)
	}
	return s
}

func boundaryAt(round uint64, planned, running int64) *agentpb.SwitchReport_Boundary {
	return &agentpb.SwitchReport_Boundary{PlanVersion: 1, Round: round, PlannedNanos: planned, RunningNanos: running, JobsIn: []uint64{1}}
}

// TestWholeDistributions: who asks for them gets the distributions themselves, others do not.
func TestWholeDistributions(t *testing.T) {
	s := NewSwitches()
	took := 20 * time.Microsecond
	for range 3 {
		s.Add("n1", &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{
			steps(t, 0, map[ctxswitch.Measure]time.Duration{ctxswitch.MeasureStop: took}),
		}})
	}
	few := s.Response(&scorev1.SwitchMetricsRequest{}).GetGroups()[0].GetSteps()[0]
	if len(few.GetHistogram()) > 0 {
		t.Errorf("not asked for, and there: %v", few)
	}
	whole := s.Response(&scorev1.SwitchMetricsRequest{Histograms: true})
	var h histogram.Histogram
	if err := h.UnmarshalBinary(whole.GetGroups()[0].GetSteps()[0].GetHistogram()); err != nil || h.Count() != 3 || h.Max() != took {
		t.Errorf("%d durations of up to %v, %v", h.Count(), h.Max(), err)
	}
	if err := h.UnmarshalBinary(whole.GetToRunning().GetHistogram()); err != nil || h.Count() != 0 {
		t.Errorf("no switch, and %d durations, %v", h.Count(), err)
	}
}

func TestStepsAreMergedPerNodeAndJob(t *testing.T) {
	s := NewSwitches()
	for range 3 {
		s.Add("n2", &agentpb.SwitchReport{
			Steps: []*agentpb.SwitchReport_Steps{
				steps(t, 0, map[ctxswitch.Measure]time.Duration{ctxswitch.MeasureStop: 20 * time.Microsecond}),
				steps(t, 7, map[ctxswitch.Measure]time.Duration{ctxswitch.MeasureGo: 30 * time.Microsecond}),
			},
			MissedBoundaries: 1, LateFreezes: 2,
		})
	}
	s.Add(
		"n1",
		&agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{steps(t, 7, map[ctxswitch.Measure]time.Duration{ctxswitch.MeasureGo: time.Millisecond})}},
	)

	all := s.Response(&scorev1.SwitchMetricsRequest{})
	if all.GetMissedBoundaries() != 3 || all.GetLateFreezes() != 6 || len(all.GetGroups()) != 3 {
		t.Fatalf("response %v", all)
	}
	order := []string{"n1", "n2", "n2"}
	for i, g := range all.GetGroups() {
		if g.GetNode() != order[i] {
			t.Errorf("group %d is of %s", i, g.GetNode())
		}
	}
	whole := all.GetGroups()[1]
	if whole.GetJobId() != 0 || len(whole.GetSteps()) != 1 {
		t.Fatalf("the node's whole is %v", whole)
	}
	stop := whole.GetSteps()[0]
	if stop.GetStep() != "stop" || stop.GetCount() != 3 || stop.GetMaxNanos() != 20_000 || stop.GetSumNanos() != 60_000 {
		t.Errorf("steps %v", stop)
	}
	if of := s.Response(&scorev1.SwitchMetricsRequest{JobId: 7}); len(of.GetGroups()) != 2 {
		t.Errorf("groups of job 7: %v", of.GetGroups())
	}
	if of := s.Response(&scorev1.SwitchMetricsRequest{Node: "n1"}); len(of.GetGroups()) != 1 {
		t.Errorf("groups of n1: %v", of.GetGroups())
	}
}

func TestBoundariesAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSwitches()
		const us = 1000
		s.Add("n1", &agentpb.SwitchReport{Boundaries: []*agentpb.SwitchReport_Boundary{
			boundaryAt(1, 1000*us, 1050*us),
			boundaryAt(2, 2000*us, 2070*us),
			{PlanVersion: 1, Round: 3, PlannedNanos: 3000 * us, RunningNanos: 3010 * us}, // nothing came on
			boundaryAt(4, 4000*us, 3000*us),                                              // a clock that ran backwards
		}})
		check := func(when string, pending int) {
			t.Helper()
			r := s.Response(&scorev1.SwitchMetricsRequest{})
			if got := r.GetToRunning(); got.GetCount() != 2 || got.GetMaxNanos() != 80*us || got.GetSumNanos() != 150*us {
				t.Errorf("%s: to running %v", when, got)
			}
			if got := r.GetSkew(); got.GetCount() != 1 || got.GetMaxNanos() != 30*us {
				t.Errorf("%s: skew %v", when, got)
			}
			if len(s.arrivals) != pending {
				t.Errorf("%s: %d are pending, want %d", when, len(s.arrivals), pending)
			}
		}
		if r := s.Response(&scorev1.SwitchMetricsRequest{}); r.GetToRunning().GetCount() != 2 || r.GetSkew().GetCount() != 0 || len(s.arrivals) != 2 {
			t.Errorf("of one node: %v", r)
		}
		s.Add("n2", &agentpb.SwitchReport{Boundaries: []*agentpb.SwitchReport_Boundary{boundaryAt(1, 1000*us, 1080*us)}})
		check("all have told of the first", 1)
		time.Sleep(joinWindow + time.Second)
		check("after the window", 0)
		if len(s.reporters) != 0 {
			t.Errorf("%d nodes are still waited for", len(s.reporters))
		}
		if len(s.pending)+len(s.arrivals) != 0 {
			t.Errorf("%d are still pending", len(s.pending))
		}
	})
}

func TestBounds(t *testing.T) {
	s := NewSwitches()
	report := &agentpb.SwitchReport{}
	for i := range uint64(maxPending + 100) {
		report.Boundaries = append(report.Boundaries, boundaryAt(i, 0, 1))
	}
	s.Add("n1", report)
	if len(s.arrivals) > maxPending || s.toRunning.Count() != 100 {
		t.Errorf("%d boundaries pending, %d counted", len(s.arrivals), s.toRunning.Count())
	}
	for job := range uint64(maxGroups + 10) {
		s.Add("n1", &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{{JobId: job + 1}}})
	}
	if len(s.groups) != maxGroups || len(s.recent) != maxGroups {
		t.Errorf("%d groups", len(s.groups))
	}
	if s.groups[groupKey{"n1", 1}] != nil || s.groups[groupKey{"n1", maxGroups + 10}] == nil {
		t.Error("not the longest silent groups were dropped")
	}
}

func TestDamagedReportsAreLeftOut(t *testing.T) {
	s := NewSwitches()
	s.Add("n1", &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{
		nil,
		{JobId: 1, Histograms: [][]byte{[]byte("nonsense"), nil, make([]byte, 1<<20)}},
		{JobId: 2, Histograms: make([][]byte, 1000)},
	}, Boundaries: []*agentpb.SwitchReport_Boundary{nil}})
	for _, g := range s.Response(&scorev1.SwitchMetricsRequest{}).GetGroups() {
		if len(g.GetSteps()) != 0 {
			t.Errorf("group %v", g)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{1, 5, 5, 6, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewSwitches()
		s.Add("n", &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{{Histograms: [][]byte{data, data}}}})
		s.Response(&scorev1.SwitchMetricsRequest{})
	})
}
