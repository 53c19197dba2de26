package leader

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"score/scored/api/scorev1"
	"score/scored/state"
)

func TestStartTrace(t *testing.T) {
	j := &job{allocated: 5}
	if j.startTrace() != nil {
		t.Error("a job without places has a start")
	}
	told := &part{Place: state.Place{Node: "n1", Ranks: []uint32{0, 1}}}
	j.parts = []*part{told, {Place: state.Place{Node: "n2", Ranks: []uint32{2}}}}
	told.started(nil)
	told.started(&scorev1.NodeStart{OrderedNanos: 6, ReadyNanos: 7, ForkedNanos: -1})
	before := told.start
	told.started(&scorev1.NodeStart{ReadyNanos: 8, ForkedNanos: 9, Contacts: 1 << 20})
	want := &scorev1.StartTrace{AllocatedNanos: 5, Nodes: []*scorev1.NodeStart{
		{OrderedNanos: 6, ReadyNanos: 7, ForkedNanos: 9, Contacts: 2}, {},
	}}
	if diff := cmp.Diff(want, j.startTrace(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if before.GetForkedNanos() != 0 {
		t.Error("a trace changes that somebody may be reading")
	}
}
