package leader

import (
	"score/scored/api/scorev1"
	"score/scored/state"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

func TestStartTrace(t *testing.T) {
	b := &controller{now: 10}
	j := &job{submitted: 3, attempt: attempt{allocated: 5}}
	if j.startTrace() != nil {
		t.Error("a job without places has a start")
	}
	reporting := &part{Place: state.Place{Node: "n1", Ranks: []uint32{0, 1}}}
	j.parts = []*part{reporting, {Place: state.Place{Node: "n2", Ranks: []uint32{2}}}}
	b.onStartReport(j, reporting, nil)
	b.onStartReport(j, reporting, &scorev1.NodeStart{OrderedNanos: 6, ReadyNanos: 7, ForkedNanos: -1})
	before := reporting.start
	b.onStartReport(j, reporting, &scorev1.NodeStart{ReadyNanos: 8, ForkedNanos: 9, Contacts: 1 << 20})
	want := &scorev1.StartTrace{AllocatedNanos: 5, Nodes: []*scorev1.NodeStart{
		{OrderedNanos: 6, ReadyNanos: 7, ForkedNanos: 9, Contacts: 2}, {},
	}}
	if diff := cmp.Diff(want, j.startTrace(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if before.GetForkedNanos() != 0 {
		t.Error("a trace changes that may be in use")
	}
}

// TestStartOfAnotherClock: reports of a node with a wrong estimate of the leader's clock are
// clamped to possible times.
func TestStartOfAnotherClock(t *testing.T) {
	b := &controller{now: 10}
	j := &job{submitted: 3, attempt: attempt{allocated: 5}}
	p := &part{Place: state.Place{Node: "n1", Ranks: []uint32{0}}}
	b.onStartReport(j, p, &scorev1.NodeStart{OrderedNanos: 4, StagedNanos: 4, ReadyNanos: 2, ForkedNanos: 11})
	want := &scorev1.NodeStart{OrderedNanos: 5, StagedNanos: 4, ReadyNanos: 5, ForkedNanos: 10}
	if diff := cmp.Diff(want, p.start, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.onStartReport(j, p, &scorev1.NodeStart{StagedNanos: 1, InitNanos: 1 << 60})
	if got := p.start; got.GetStagedNanos() != 4 || got.GetInitNanos() != 10 {
		t.Errorf("staged %d, init %d", got.GetStagedNanos(), got.GetInitNanos())
	}
}
