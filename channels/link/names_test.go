package link

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNames: each directory and each context has a name of its own, which says what it is of.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, ranks := rapid.Uint32Range(1, 1<<16).Draw(t, "nodes"), rapid.Uint32Range(1, 1<<24-1).Draw(t, "ranks")
		n := NamesOf(18888, rapid.Uint64().Draw(t, "key"), nodes, ranks)
		if n.Last() < n.Base || n.Base < ReservedNames {
			t.Fatalf("%+v ends at %d", n, n.Last())
		}
		node := rapid.Uint32Range(0, nodes-1).Draw(t, "node")
		channel, rank := rapid.Uint32Range(0, NameChannels-1).Draw(t, "channel"), rapid.Uint32Range(0, ranks-1).Draw(t, "rank")
		for at, want := range map[Address]Meaning{n.Directory(node): {Directory: true, Node: node}, n.Context(channel, rank): {Channel: channel, Rank: rank}} {
			kind, instance, _ := at.Name()
			if m, ok := n.Find(instance); !ok || m != want || kind != n.Kind {
				t.Fatalf("%v is %+v, want %+v", at, m, want)
			}
		}
		for _, strange := range []uint32{n.Base - 1, n.Last() + 1} {
			if m, ok := n.Find(strange); ok && (n.Base != 0 && n.Last() != 1<<32-1) {
				t.Fatalf("%d of %+v is %+v", strange, n, m)
			}
		}
	})
}

// TestNamesAreTheKeys: two jobs have names of their own, and all nodes of a job the same.
func TestNamesAreTheKeys(t *testing.T) {
	if a, b := NamesOf(18888, 1, 2, 4), NamesOf(18888, 2, 2, 4); a.Base == b.Base {
		t.Errorf("both begin with %d", a.Base)
	}
	if a := NamesOf(18888, 1, 2, 4); a.Base != 3955254846 {
		t.Errorf("the names begin with %d: agents of two versions would not find each other", a.Base)
	}
}

// TestMarks: clusters have marks of their own, which no job has for a name.
func TestMarks(t *testing.T) {
	a, b := MarkOf([]byte("a")), MarkOf([]byte("b"))
	if a == b || a >= ReservedNames || b >= ReservedNames {
		t.Errorf("the marks are %d and %d", a, b)
	}
	if a != 50101 {
		t.Errorf("the mark is %d: agents of two versions would take each other for two clusters", a)
	}
}
