package pmi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// groupIn brings a process into a collective.
func groupIn(w *world, p Proc, kind GroupKind, procs ...Proc) {
	w.t.Helper()
	w.do(p.Job, p.Rank, func(e *Engine) error { return e.GroupIn(p.Rank, 1, kind, procs) })
}

// notified lists how collectives ended, and for whom.
func notified(w *world) map[string]bool {
	ends := make(map[string]bool)
	for _, answer := range w.take() {
		if answer.Kind == EventGroup {
			ends[fmt.Sprintf("%d/%d", answer.Job, answer.Rank)] = answer.OK
		}
	}
	return ends
}

func twoJobs(t *testing.T) *world {
	w := newWorld(t)
	w.job(1, 0, 0, 1)
	w.job(2, 0, 1)
	return w
}

func TestGroupOfTwoJobs(t *testing.T) {
	w := twoJobs(t)
	all := []Proc{{2, 1}, {1, -1}, {2, 0}, {1, 2}}
	other := []Proc{{1, -1}, {2, 0}, {2, 1}} // the same, otherwise named
	for round := range 3 {
		for i, p := range []Proc{{1, 0}, {2, 1}, {1, 2}, {1, 1}} {
			groupIn(w, p, GroupConnect, [][]Proc{all, other}[i%2]...)
			if got := notified(w); len(got) != 0 {
				t.Fatalf("round %d: over after %d of 5: %v", round, i+1, got)
			}
		}
		groupIn(w, Proc{2, 0}, GroupConnect, all...)
		if got := notified(w); len(got) != 5 || !got["1/0"] || !got["1/1"] || !got["1/2"] || !got["2/0"] || !got["2/1"] {
			t.Fatalf("round %d: %v", round, got)
		}
	}
}

// TestConstruct constructs groups of the same processes again and again: all processes of one get
// the same number, which no other has, and none stays.
func TestConstruct(t *testing.T) {
	w := twoJobs(t)
	all := []Proc{{1, 0}, {1, 2}, {2, 1}}
	seen := make(map[uint64]bool)
	for range 3 {
		for _, p := range all {
			for tag, name := range []string{"a", "b"} { // under way at once
				w.do(p.Job, p.Rank, func(e *Engine) error { return e.NamedGroupIn(p.Rank, Tag(tag), GroupConstruct, name, all) })
			}
		}
		numbers := make(map[Tag][]uint64)
		for _, answer := range w.take() {
			if answer.Kind != EventGroup || !answer.OK || answer.Group.Kind != GroupConstruct || !slices.Equal(answer.Group.Procs, all) {
				t.Fatalf("%+v", answer)
			}
			numbers[answer.Tag] = append(numbers[answer.Tag], answer.Group.Number)
		}
		for tag, of := range numbers {
			if len(of) != len(all) || of[0] != of[1] || of[1] != of[2] || of[0] == 0 || seen[of[0]] {
				t.Errorf("group %d: %v", tag, of)
			}
			seen[of[0]] = true
		}
		for _, p := range all {
			w.do(p.Job, p.Rank, func(e *Engine) error { return e.NamedGroupIn(p.Rank, 1, GroupDestruct, "a", all) })
		}
		if got := notified(w); len(got) != len(all) || !got["1/0"] || !got["1/2"] || !got["2/1"] {
			t.Errorf("destruct: %v", got)
		}
	}
	for at, e := range w.engines {
		if len(e.groups.by) != 0 || e.groups.procs != 0 {
			t.Errorf("%v keeps %d groups of %d processes", at, len(e.groups.by), e.groups.procs)
		}
	}
	e, _ := w.of(1, 0)
	if err := e.NamedGroupIn(0, 1, GroupConstruct, strings.Repeat("x", MaxGroupName+1), all); !errors.Is(err, ErrMalformed) {
		t.Errorf("a long name: %v", err)
	}
}

func TestGroupWithinANode(t *testing.T) {
	w := twoJobs(t)
	groupIn(w, Proc{1, 0}, GroupFence, Proc{1, 0}, Proc{1, 1})
	groupIn(w, Proc{1, 1}, GroupFence, Proc{1, 1}, Proc{1, 0})
	if got := notified(w); len(got) != 2 || !got["1/0"] || !got["1/1"] {
		t.Fatal(got)
	}
}

// TestGroupBreaks is for collectives to which not all can come.
func TestGroupBreaks(t *testing.T) {
	procs := []Proc{{1, 0}, {1, 2}, {2, 1}}
	for name, cause := range map[string]func(*world){
		"a process ends":    func(w *world) { w.do(2, 1, func(e *Engine) error { _, err := e.OnDisconnected(1); return err }) },
		"one finalizes":     func(w *world) { w.do(2, 1, func(e *Engine) error { return e.Finalize(1) }) },
		"on the first node": func(w *world) { w.do(1, 0, func(e *Engine) error { _, err := e.OnDisconnected(0); return err }) },
	} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " before=", before), func(t *testing.T) {
				w := twoJobs(t)
				if before {
					cause(w)
				}
				groupIn(w, Proc{1, 2}, GroupConnect, procs...)
				if !before {
					cause(w)
				}
				if name != "on the first node" {
					groupIn(w, Proc{1, 0}, GroupConnect, procs...)
				}
				got := notified(w)
				if ok, answered := got["1/2"]; !answered || ok {
					t.Errorf("rank 2: %v", got)
				}
			})
		}
	}
}

func TestGroupRefused(t *testing.T) {
	w := twoJobs(t)
	e, _ := w.of(1, 0)
	if err := e.GroupIn(0, 1, GroupFence, nil); err == nil {
		t.Error("a group of nobody")
	}
	for range 2 { // what is wrong once is wrong again, and does not wait
		if err := e.GroupIn(0, 1, GroupFence, []Proc{{1, 0}, {1, 7}}); !errors.Is(err, ErrMalformed) {
			t.Errorf("a group with a rank that does not exist: %v", err)
		}
	}
	for _, others := range [][]Proc{{{1, 1}, {1, 2}}, {{2, -1}}, {{2, 0}}} {
		if err := e.GroupIn(0, 1, GroupFence, others); !errors.Is(err, ErrMalformed) {
			t.Errorf("a group of %v by one that is not in it: %v", others, err)
		}
	}
	groupIn(w, Proc{1, 0}, GroupConnect, Proc{1, 0}, Proc{99, 0})
	if got := notified(w); len(got) != 1 || got["1/0"] {
		t.Errorf("with a job that does not exist: %v", got)
	}
	w.lost[address{2, 1}] = true
	groupIn(w, Proc{1, 2}, GroupConnect, Proc{1, 2}, Proc{2, 1})
	if err := e.GroupIn(0, 2, GroupFence, []Proc{{1, 0}, {1, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := e.GroupIn(0, 3, GroupFence, []Proc{{1, 1}, {1, 0}}); err == nil {
		t.Error("a second one before the first was answered")
	}
}

func TestWholeJob(t *testing.T) {
	w := twoJobs(t)
	e, _ := w.of(1, 0)
	for _, test := range []struct {
		procs []Proc
		want  bool
	}{
		{[]Proc{{1, -1}}, true},
		{[]Proc{{1, 2}, {1, 0}, {1, 1}}, true},
		{[]Proc{{1, 2}, {1, 0}}, false},
		{[]Proc{{1, 2}, {1, 0}, {1, 0}}, false},
		{[]Proc{{2, -1}}, false},
		{[]Proc{{1, 0}, {1, 1}, {1, 2}, {2, 0}}, false},
		{nil, false},
	} {
		if got := e.WholeJob(test.procs); got != test.want {
			t.Errorf("%v: %v", test.procs, got)
		}
	}
}

// TestGroupsMeet has random groups do random collectives, with messages in any
// order: each ends when all its processes have come, and for all of them.
func TestGroupsMeet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.job(1, 0, 1, 2, 0)
		w.job(2, 0, 1)
		w.order = func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "next") }
		everybody := []Proc{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {2, 0}, {2, 1}}
		for range 4 {
			size := rapid.IntRange(1, len(everybody)).Draw(rt, "size")
			members := rapid.Permutation(everybody).Draw(rt, "members")[:size]
			came := 0
			for _, p := range rapid.Permutation(members).Draw(rt, "order") {
				groupIn(w, p, GroupFence, rapid.Permutation(members).Draw(rt, "names")...)
				came++
				if got := notified(w); (len(got) != 0) != (came == size) || came == size && len(got) != size {
					rt.Fatalf("%v: after %d came %v", members, came, got)
				}
			}
		}
	})
}

// TestGroupsAtOnce is what ranks do that spawn over MPI_COMM_SELF at the same time: each is
// connected with its own children, meets them and leaves them, in an order of its own. Each
// collective ends when its own processes have come.
func TestGroupsAtOnce(t *testing.T) {
	const parents, children = 4, 5
	kinds := []GroupKind{GroupConnect, GroupFence, GroupDisconnect}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.order = func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "message") }
		w.job(1, 0, 0, 1, 1)
		steps := make(map[Proc]int) // how many collectives each process has come to
		came := make(map[int][]int) // of each family, how many have come to each of its collectives
		var ready []Proc
		for f := range parents {
			w.job(uint64(2+f), 0, 0, 1, 1, 0)
			came[f] = make([]int, len(kinds))
			ready = append(ready, Proc{1, f})
			for c := range children {
				ready = append(ready, Proc{uint64(2 + f), c})
			}
		}
		for len(ready) > 0 {
			i := rapid.IntRange(0, len(ready)-1).Draw(rt, "process")
			p := ready[i]
			ready = slices.Delete(ready, i, i+1)
			family := int(p.Job) - 2
			if p.Job == 1 {
				family = p.Rank
			}
			step := steps[p]
			steps[p]++
			came[family][step]++
			groupIn(w, p, kinds[step], Proc{1, family}, Proc{uint64(2 + family), -1})
			over := notified(w)
			if whole := came[family][step] == 1+children; whole != (len(over) != 0) || whole && len(over) != 1+children {
				rt.Fatalf("%d of family %d have come to collective %d, and %v is over", came[family][step], family, step, over)
			}
			for name, ok := range over {
				var q Proc
				if _, err := fmt.Sscanf(name, "%d/%d", &q.Job, &q.Rank); err != nil || !ok {
					rt.Fatalf("%s: %v, %v", name, ok, err)
				}
				if steps[q] < len(kinds) {
					ready = append(ready, q)
				}
			}
		}
		for p, n := range steps {
			if n != len(kinds) {
				rt.Fatalf("%v came to %d collectives", p, n)
			}
		}
	})
}

func TestGroupKey(t *testing.T) {
	procs := canonical([]Proc{{3, 1}, {1, -1}, {1, 5}, {3, 0}, {3, 1}})
	if want := []Proc{{1, -1}, {3, 0}, {3, 1}}; !slices.Equal(procs, want) {
		t.Fatal(procs)
	}
	kind, _, again, ok := readGroup(groupKey(GroupConnect, "", procs))
	if kind != GroupConnect || !slices.Equal(again, procs) || !ok {
		t.Fatal(kind, again, ok)
	}
	if _, _, _, ok := readGroup(string([]byte{byte(GroupFence), 1, 2, 1, 1})); ok {
		t.Error("processes out of order")
	}
}

func TestNotices(t *testing.T) {
	w := newWorld(t)
	w.job(1, 0, 0, 1)
	for _, r := range []struct {
		rank  int
		codes []int32
	}{{0, nil}, {1, []int32{-5}}, {2, []int32{-5, -6}}} {
		w.do(1, r.rank, func(e *Engine) error { return e.Register(r.rank, r.codes) })
	}
	heard := func(n Notice, reach Reach) (ranks []int) {
		w.do(1, n.Source, func(e *Engine) error { e.Notify(n, reach); return nil })
		for _, answer := range w.take() {
			if answer.Kind == EventNotice && answer.Notice.Code == n.Code {
				ranks = append(ranks, answer.Rank)
			}
		}
		return ranks
	}
	for _, test := range []struct {
		n     Notice
		reach Reach
		want  []int
	}{
		{Notice{Source: 2, Code: -5}, ReachJob, []int{0, 1}},
		{Notice{Source: 1, Code: -6}, ReachJob, []int{0, 2}},
		{Notice{Source: 1, Code: -6}, ReachNode, []int{0}},
		{Notice{Source: 1, Code: -5}, ReachRank, []int{1}},
	} {
		if got := heard(test.n, test.reach); !slices.Equal(got, test.want) {
			t.Errorf("%+v: told %v, want %v", test.n, got, test.want)
		}
	}
	// Ranks that register later are told of what has come before, once, unless it was not to be
	// kept.
	heard(Notice{Source: 0, Code: -20}, ReachJob)
	heard(Notice{Source: 0, Code: -20, Fleeting: true}, ReachJob)
	heard(Notice{Source: 0, Code: -21, Infos: strings.Repeat("x", MaxKeptBytes+1)}, ReachNode)
	for rank, want := range []int{0, 1, 1} { // the source has told itself
		for _, codes := range [][]int32{{-20, -21, -22}, {-20}} {
			w.do(1, rank, func(e *Engine) error { return e.Register(rank, codes) })
			if got := w.take(); len(got) != want {
				t.Errorf("rank %d registered for %v and was told %d events, not %d", rank, codes, len(got), want)
			}
			want = 0
		}
	}
	for range 2 * maxKept {
		heard(Notice{Source: 0, Code: -30, Infos: strings.Repeat("x", MaxKeptBytes/16)}, ReachNode)
	}
	if k := &w.engines[address{1, 0}].notices; len(k.kept) > maxKept || k.bytes > MaxKeptBytes || len(k.kept) != 16 {
		t.Errorf("%d events of %d bytes are kept", len(k.kept), k.bytes)
	}
	w.do(1, 0, func(e *Engine) error { e.Deregister(0, nil); return nil })
	if got := heard(Notice{Source: 1, Code: -9}, ReachJob); len(got) != 0 {
		t.Errorf("after it was taken back: %v", got)
	}
}

func FuzzRelayed(f *testing.F) {
	for _, m := range []relayed{
		{kind: relayFetch, id: 1, rank: 1, key: "k", timeout: 5},
		{kind: relayCard, id: 2, outcome: Found, pairs: []KV{{"k", "v"}}},
		{kind: relayIn, id: 1, group: groupKey(GroupFence, "", []Proc{{1, 0}, {2, -1}}), outcome: Found},
		{kind: relayOut, id: 1, group: groupKey(GroupConnect, "", []Proc{{1, 0}}), outcome: Missing},
		{kind: relayOut, id: 1, group: groupKey(GroupConstruct, "n", []Proc{{1, 0}, {1, 2}}), outcome: Found, number: 1 << 40},
		{kind: relayNotify, note: Notice{Source: 1, Code: -5, Range: 3, Infos: "x", Fleeting: true}},
	} {
		f.Add(m.append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t)
		w.job(1, 0, 0, 1)
		e := w.engines[address{1, 0}]
		_ = e.Relayed(w.now, 1, 1, data)
		_ = e.Relayed(w.now, 2, 0, data)
		e.RelayFailed(1, 1, data)
		m, err := readRelayed(data)
		if err != nil {
			return
		}
		if again, err := readRelayed(
			m.append(nil),
		); err != nil || again.kind != m.kind || again.id != m.id || again.group != m.group || again.number != m.number ||
			again.note != m.note {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}
