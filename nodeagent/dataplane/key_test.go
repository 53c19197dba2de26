package dataplane

import (
	"os"
	"testing"

	"score/scored/api/scorev1"
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

func TestParseStat(t *testing.T) {
	fields := " S 42 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 12345 1 1"
	for _, test := range []struct {
		stat string
		ok   bool
	}{
		{"9 (a.out)" + fields, true},
		{"9 (evil) R 1 (x))" + fields, true},
		{"", false},
		{"9 (a.out) S 42", false},
		{"9 a.out" + fields, false},
		{"9 (a.out) S x 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 12345 1 1", false},
		{"9 (a.out) S 42 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 -1 1 1", false},
	} {
		p, err := parseStat(9, []byte(test.stat))
		if (err == nil) != test.ok || test.ok && (p != process{9, 42, 12345}) {
			t.Errorf("%q: %v, %v", test.stat, p, err)
		}
	}
}

func TestChildOf(t *testing.T) {
	me := os.Getpid()
	p, ok := childOf(me, func(pid int) bool { return pid == os.Getppid() })
	if now, err := sinceBoot(); !ok || err != nil || p.pid != me || p.start == 0 || p.start > now {
		t.Errorf("this process is told as %v, %v at %d, %v", p, ok, now, err)
	}
	if _, ok := childOf(me, func(int) bool { return false }); ok {
		t.Error("a parent that nobody has")
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
			m, err := placesOf(&scorev1.Prepare{Places: test.places, NodeIndex: 0})
			if (err == nil) != test.ok {
				t.Fatalf("error %v", err)
			}
			if m != nil && (m.Node(1) != 1 || m.Node(2) != 0 || m.Directory(1).AddrPort().String() != "127.0.0.2:2") {
				t.Errorf("rank 1 on node %d, rank 2 on node %d, node 1 at %v", m.Node(1), m.Node(2), m.Directory(1))
			}
		})
	}
}
