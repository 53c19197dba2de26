package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestBound: a job of a user who is bound to a node runs there, whatever it asks for, and so do its
// spawned jobs. The request is kept as it was.
func TestBound(t *testing.T) {
	asked := &scorev1.JobSpec{Argv: []string{"a.out"}, Tasks: 2, Nodes: 2, NodeList: []string{"n2"}}
	before := proto.CloneOf(asked)
	b := &controller{}
	parent := b.newJob(asked, &scorev1.Identity{Uid: 0, Node: "n1"})
	child, _, err := childSpec(parent, []*agentpb.SpawnApp{{Program: "b.out", Tasks: 1, Hosts: []string{"n2"}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, j := range map[string]*job{"the job": parent, "what it spawns": b.newJob(child, parent.user)} {
		if list := j.spec.GetNodeList(); len(list) != 1 || list[0] != "n1" || j.spec.GetNodes() != 1 {
			t.Errorf("%s: nodes %v, %d of them", what, list, j.spec.GetNodes())
		}
		if request := j.requestOf(); request.Nodes != 1 || len(request.NodeList) != 1 || request.NodeList[0] != "n1" {
			t.Errorf("%s is placed by %+v", what, request)
		}
	}
	if !proto.Equal(asked, before) {
		t.Error("what was asked for was changed")
	}
	if free := b.newJob(asked, &scorev1.Identity{Uid: 7}); free.spec != asked {
		t.Error("a job of a user like any other was changed")
	}
}

// TestStageSeed: files go first to a node of the list, or to one that is not excluded.
func TestStageSeed(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"n1", "n2", "n3"} {
		w.connect(hello(name, 1))
	}
	for _, test := range []struct {
		list, exclude []string
		want          string
	}{
		{nil, nil, "n1"},
		{[]string{"n9", "n3"}, nil, "n3"},
		{nil, []string{"n1"}, "n2"},
		{nil, []string{"n1", "n2"}, "n3"},
		{nil, []string{"n1", "n2", "n3"}, ""},
	} {
		got := ""
		if n := w.b.stageSeed(0, test.list, test.exclude); n != nil {
			got = n.name
		}
		if got != test.want {
			t.Errorf("%v without %v: %q, want %q", test.list, test.exclude, got, test.want)
		}
	}
}
