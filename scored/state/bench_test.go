package state

import "testing"

func BenchmarkApplyJob(b *testing.B) {
	s := New()
	mustApply(b, s, node("n1", 2))
	for b.Loop() {
		id := s.NextJob()
		mustApply(b, s, submit(id, 1), allocate(id, 0, place("n1", []uint32{0}, []uint32{0})))
		mustApply(b, s, markRunning(id), end(id))
	}
}
