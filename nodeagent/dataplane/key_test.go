package dataplane

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"testing"
)

func TestJobKey(t *testing.T) {
	seen := map[uint64]string{0: "zero"}
	for _, of := range []struct {
		clusterKey, cluster string
		job                 uint64
	}{{"k", "c", 1}, {"k", "c", 2}, {"k", "d", 1}, {"l", "c", 1}, {"k", "c\x00", 1}} {
		key := jobKey(of.clusterKey, of.cluster, of.job)
		if seen[key] != "" || key != jobKey(of.clusterKey, of.cluster, of.job) {
			t.Errorf("%v has the key of %s", of, seen[key])
		}
		seen[key] = of.cluster
	}
}

func TestSecretOf(t *testing.T) {
	for _, test := range []struct{ order, cluster, want string }{{"o", "c", "o"}, {"", "c", "c"}, {"o", "", "o"}, {"", "", ""}} {
		got, err := secretOf(&agentpb.Prepare{Key: []byte(test.order)}, test.cluster)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}

func TestPlacesOf(t *testing.T) {
	place := func(address string, ranks ...uint32) *scorev1.NodePlace {
		return &scorev1.NodePlace{Node: "n", Address: address, Ranks: ranks}
	}
	for _, test := range []struct {
		name   string
		places []*scorev1.NodePlace
		ok     bool
	}{
		{"one node", []*scorev1.NodePlace{place("nowhere", 0, 1)}, true},
		{"two nodes", []*scorev1.NodePlace{place("127.0.0.1:1", 0, 2), place("127.0.0.2:2", 1, 3)}, true},
		{"another host", []*scorev1.NodePlace{place("127.0.0.1:1", 0), place("10.0.0.1:2", 1)}, false},
		{"a name", []*scorev1.NodePlace{place("127.0.0.1:1", 0), place("localhost:2", 1)}, false},
		{"no port", []*scorev1.NodePlace{place("127.0.0.1:1", 0), place("127.0.0.1", 1)}, false},
		{"a rank twice", []*scorev1.NodePlace{place("127.0.0.1:1", 0), place("127.0.0.1:2", 0)}, false},
		{"a rank too large", []*scorev1.NodePlace{place("127.0.0.1:1", 0), place("127.0.0.1:2", 2)}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := placesOf(&agentpb.Prepare{Places: test.places, NodeIndex: 0}, false)
			if (err == nil) != test.ok {
				t.Fatalf("error %v", err)
			}
			if m != nil && (m.Node(1) != 1 || m.Node(2) != 0 || m.Directory(1).AddrPort().String() != "127.0.0.2:2") {
				t.Errorf("rank 1 on node %d, rank 2 on node %d, node 1 at %v", m.Node(1), m.Node(2), m.Directory(1))
			}
		})
	}
}
