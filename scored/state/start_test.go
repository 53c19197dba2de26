package state

import (
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"testing"

	"google.golang.org/protobuf/proto"
)

// The end of a job records how its start went, and when its places were given.
func TestStartIsKept(t *testing.T) {
	s := New()
	mustApply(t, s, node("n1", 4))
	mustApply(t, s, submit(1, 1))
	mustApply(t, s, allocate(1, 0, place("n1", []uint32{0}, []uint32{0})))
	allocated := s.Job(1).Allocated
	if allocated == 0 || allocated != s.Nanos() {
		t.Errorf("allocated at %d, the entry was of %d", allocated, s.Nanos())
	}
	start := &scorev1.StartTrace{AllocatedNanos: allocated, Nodes: []*scorev1.NodeStart{{ForkedNanos: allocated + 1}}}
	mustApply(t, s, &statepb.Command{Command: &statepb.Command_End{End: &statepb.End{
		JobId: 1, Verdict: &scorev1.Verdict{Reason: scorev1.EndReason_END_REASON_EXITED}, Start: start,
	}}})
	again, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if job := again.Job(1); !proto.Equal(job.Start, start) || job.Allocated != allocated {
		t.Errorf("%v, %d", job.Start, job.Allocated)
	}
}
