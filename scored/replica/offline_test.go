package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/scored/state"
	"strings"
	"testing"
)

// Two of three servers are lost for good. The third recovers with its own entries, in a term that
// is new to all nodes, and others can join it.
func TestRecover(t *testing.T) {
	s := begin(t, steady)
	s.commit("a", 1, "n1")
	s.agree("[n1]")
	_, term := s.leader("a", "b", "c")
	for _, name := range []string{"c", "a", "b"} {
		s.close(name)
	}
	place := OfflineServer{Dir: filepath.Join(s.dir, "b"), Name: "b", Address: s.plug["b"].Addr().String()}
	shown := 0
	look := func(agreed bool) func(Survey) bool {
		return func(found Survey) bool {
			shown++
			if got := names(found.Servers); got != "a, b, c" || found.Entry < 4 {
				t.Errorf("it found %+v", found)
			}
			return agreed
		}
	}
	if err := Recover(place, look(false)); err != nil {
		t.Fatal(err)
	}
	r := s.open("b", StartCluster)
	if got, _ := r.Leader(); got != "" {
		t.Errorf("without consent it was changed: %s leads", got)
	}
	if err := Recover(place, look(true)); !errors.Is(err, ErrInUse) {
		t.Errorf("while its server runs: %v", err)
	}
	s.close("b")
	if err := Recover(place, look(true)); err != nil {
		t.Fatal(err)
	}
	if shown != 2 {
		t.Errorf("what was found was shown %d times", shown)
	}
	if now := lead(t, s.open("b", StartCluster)); now <= term+termLeap {
		t.Errorf("term %d, and it was %d", now, term)
	}
	s.agree("[n1]")
	s.commit("b", 2, "n2")
	if list, err := s.all["b"].Servers(); err != nil || len(list) != 1 {
		t.Errorf("servers %v, %v", list, err)
	}
	delete(s.plug, "c")
	if err := os.RemoveAll(filepath.Join(s.dir, "c")); err != nil {
		t.Fatal(err)
	}
	s.open("c", StartMember)
	s.join("b", "c")
	s.agree("[n1 n2]")
}

func TestRecoverRefuses(t *testing.T) {
	agree := func(Survey) bool { t.Error("it asked"); return true }
	empty := t.TempDir()
	if err := Recover(OfflineServer{Dir: empty, Name: "a", Address: "127.0.0.1:1"}, agree); !errors.Is(err, ErrAlone) {
		t.Errorf("an empty directory: %v", err)
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) != 0 {
		t.Errorf("it left %v in it", entries)
	}
	lone := filled(t)
	if err := Recover(OfflineServer{Dir: lone}, agree); !errors.Is(err, ErrAlone) || !strings.Contains(err.Error(), "the only one") {
		t.Errorf("a server without others: %v", err)
	}
	s := begin(t, steady)
	s.close("b")
	if err := Recover(OfflineServer{Dir: filepath.Join(s.dir, "b"), Name: "x", Address: "127.0.0.1:1"}, agree); !errors.Is(err, ErrDirectory) {
		t.Errorf("under another name: %v", err)
	}
	delete(s.plug, "b")
	if err := s.all["a"].Remove("b"); err != nil {
		t.Fatal(err)
	}
}

// A saved state continues in an empty directory.
func TestStartFromSavedState(t *testing.T) {
	for _, place := range []OfflineServer{{}, {Name: "a", Address: "127.0.0.1:0"}} {
		from := state.New()
		for i, name := range []string{"n1", "n2"} {
			if err := from.Apply(nodeEntry(5, int64(i+1), name)); err != nil {
				t.Fatal(err)
			}
		}
		next := from.NextJob()
		place.Dir = filepath.Join(t.TempDir(), "data")
		if err := Bootstrap(place, from, 5); err != nil {
			t.Fatal(err)
		}
		if err := Bootstrap(place, from, 5); !errors.Is(err, ErrUsed) {
			t.Errorf("a second time: %v", err)
		}
		for range 2 {
			s := &testCluster{t: t, wire: newWire(), all: map[string]*Replica{}, plug: map[string]*plug{}, dir: filepath.Dir(place.Dir)}
			o := Options{Dir: place.Dir}
			if place.Name != "" {
				p := s.wire.plug(t, "a", place.Address)
				o.Network, o.Name, o.Address = p, "a", p.Addr().String()
			}
			r, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			term := lead(t, r)
			if term <= 5+termLeap {
				t.Errorf("term %d", term)
			}
			if got := fmt.Sprint(nodes(r)); got != "[n1 n2]" {
				t.Errorf("nodes %s", got)
			}
			r.Read(func(s *state.State) {
				if s.NextJob() != next+state.JobLeap {
					t.Errorf("the next job is %d", s.NextJob())
				}
			})
			if err := errors.Join(r.Commit(nodeEntry(term, 9, "n1")), r.raft.Snapshot().Error(), r.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An interrupted Bootstrap leaves a directory that is refused with the reason.
func TestInterruptedStartFromSavedState(t *testing.T) {
	place := OfflineServer{Dir: filepath.Join(t.TempDir(), "data")}
	stop := inject(t, "log.store=error@1")
	err := Bootstrap(place, state.New(), 1)
	stop()
	if !errors.Is(err, ErrDisk) || !strings.Contains(err.Error(), "empty "+place.Dir) {
		t.Fatalf("error %v", err)
	}
	if _, err := Open(Options{Dir: place.Dir}); !errors.Is(err, ErrDirectory) {
		t.Errorf("a server was started on half of it: %v", err)
	}
	if err := Bootstrap(place, state.New(), 1); err == nil {
		t.Error("half of it was taken for empty")
	}
	if err := os.RemoveAll(place.Dir); err != nil {
		t.Fatal(err)
	}
	if err := Bootstrap(place, state.New(), 1); err != nil {
		t.Error(err)
	}
}
