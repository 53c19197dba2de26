package leader

import (
	"errors"
	"testing"
)

// A cluster whose nodes start together with the server takes jobs once all are connected, also when
// one of them is gone later.
func TestJobsWaitForTheNodesOfANewCluster(t *testing.T) {
	w := newWorld(t)
	w.b.startNodes = 2
	for _, name := range []string{"n1", "n2"} {
		if _, err := w.submit(jobSpec(1)); !errors.Is(err, ErrStarting) {
			t.Errorf("before %s: %v", name, err)
		}
		w.connect(hello(name, 1))
	}
	if _, err := w.submit(jobSpec(2)); err != nil {
		t.Errorf("with all nodes: %v", err)
	}
	w.b.onLinkLost("n2", w.links["n2"])
	w.settle()
	if _, err := w.submit(jobSpec(1)); err != nil {
		t.Errorf("when a node is gone again: %v", err)
	}
}

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
