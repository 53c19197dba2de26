package leader

import "testing"

// TestSpecIsKeptOnce: after the commit of a submission the leader keeps no second copy of it.
func TestSpecIsKeptOnce(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 1))
	id, err := w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	if w.b.jobs[id].spec != w.log.Job(id).Spec {
		t.Error("the controller and the state have a copy each")
	}
}
