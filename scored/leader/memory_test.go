package leader

import (
	"score/scored/api/scorev1"
	"testing"
)

// The memory promised to a job does not change with the default, nor with the leader.
func TestPromisedMemoryStays(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2)) // 1 GiB, two CPUs, eight rows
	id, err := w.submit(jobSpec(2))
	if err != nil {
		t.Fatal(err)
	}
	promised := w.b.jobs[id].memory
	if promised != (1<<30)/8 {
		t.Errorf("promised %d bytes", promised)
	}
	w.receive("n1", prepared(id))
	w.receive("n1", launched(id, w.b.now))
	if err := w.b.applySettings(&scorev1.Settings{SliceNanos: 1e8, MaxRows: 8, DefaultMemoryPerCpuBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.restart()
	if j := w.b.jobs[id]; j.memory != promised || j.state != running {
		t.Errorf("after the change %d bytes, %v", j.memory, j.state)
	}
}
