package pmi

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shelf is a Publisher that keeps what it is given, up to a number of values.
type shelf struct {
	max       int
	has       map[string]string
	announced int // how many there were at the last Announce
}

var errShelf = errors.New("no room")

func (s *shelf) Announce() { s.announced = len(s.has) }

func (s *shelf) Put(rank int, key, value string) error {
	if len(s.has) == s.max {
		return errShelf
	}
	s.has[fmt.Sprint(rank, key)] = value
	return nil
}

// Each node's publisher gets what its ranks may see, when they may, whenever it was asked to.
func TestPublish(t *testing.T) {
	for _, late := range []bool{false, true} {
		engines := newEngines(t, []int32{0, 0, 1})
		shelves := make([]*shelf, len(engines))
		begin := func() {
			for i, e := range engines {
				shelves[i] = &shelf{max: 100, has: make(map[string]string)}
				if err := e.PublishTo(shelves[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !late {
			begin()
		}
		for rank, e := range []*Engine{engines[0], engines[0], engines[1]} {
			for scope, key := range map[Scope]string{ScopeGlobal: "g", ScopeNode: "n", ScopeRemote: "r", ScopeProcess: "p"} {
				if err := e.Commit(rank, scope, key, fmt.Sprint(key, rank)); err != nil {
					t.Fatal(err)
				}
			}
			// What is for the node goes before what is for all, in whatever order.
			for _, scope := range []Scope{ScopeNode, ScopeGlobal} {
				if err := e.Commit(rank, scope, "both", fmt.Sprintf("%d%d", scope, rank)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !late {
			want := map[string]string{"2g": "g2", "2n": "n2", "2both": "12"}
			if diff := cmp.Diff(want, shelves[1].has); diff != "" {
				t.Errorf("node 1 before the fence: %s", diff)
			}
		}
		collectAll(t, engines)
		if late {
			begin()
		}
		for node, want := range []map[string]string{
			{"0g": "g0", "0n": "n0", "0both": "10", "1g": "g1", "1n": "n1", "1both": "11", "2g": "g2", "2r": "r2", "2both": "02"},
			{"0g": "g0", "0r": "r0", "0both": "00", "1g": "g1", "1r": "r1", "1both": "01", "2g": "g2", "2n": "n2", "2both": "12"},
		} {
			if diff := cmp.Diff(want, shelves[node].has); diff != "" {
				t.Errorf("late %v, node %d: %s", late, node, diff)
			}
		}
	}
}

// collectAll runs a fence with data.
func collectAll(t *testing.T, engines []*Engine) {
	t.Helper()
	var blocks []byte
	for _, e := range engines {
		for _, rank := range e.LocalRanks() {
			if err := e.CollectIn(rank, 0, true); err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range e.Events() {
			if event.Kind == EventFenceReady {
				blocks = append(blocks, event.Data...)
			}
		}
	}
	for _, e := range engines {
		if err := e.FenceDone(e.fence.seq, blocks); err != nil {
			t.Fatal(err)
		}
		e.Events()
	}
}

// A publisher that is full ends the job: in the commit, in the fence, or at once.
func TestPublisherIsFull(t *testing.T) {
	engines := newEngines(t, []int32{0, 1})
	if err := engines[0].PublishTo(&shelf{max: 1, has: make(map[string]string)}); err != nil {
		t.Fatal(err)
	}
	if err := engines[0].Commit(0, ScopeGlobal, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if err := engines[0].Commit(0, ScopeGlobal, "b", "1"); !errors.Is(err, ErrFull) || !errors.Is(err, errShelf) {
		t.Errorf("a commit: %v", err)
	}
	if err := engines[1].Commit(1, ScopeGlobal, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if err := engines[1].PublishTo(&shelf{has: make(map[string]string)}); !errors.Is(err, ErrFull) {
		t.Errorf("at once: %v", err)
	}
}
