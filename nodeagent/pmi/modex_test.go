package pmi

import (
	"slices"
	"testing"
	"time"
)

// put commits keys of a rank, each in the scope that its first letter says.
func put(w *world, job uint64, rank int, keys ...string) {
	w.t.Helper()
	w.do(job, rank, func(e *Engine) error {
		for _, key := range keys {
			scope := map[byte]Scope{'n': ScopeNode, 'r': ScopeRemote, 'g': ScopeGlobal, 'p': ScopeProcess}[key[0]]
			if err := e.Commit(rank, scope, key, "v"+key); err != nil {
				return err
			}
		}
		e.Committed(w.now, rank)
		return nil
	})
}

// fetched asks as a rank, and returns the outcome and the keys.
func fetched(w *world, job uint64, rank int, f Fetch) (Outcome, []string) {
	w.t.Helper()
	var outcome Outcome
	w.do(job, rank, func(e *Engine) (err error) {
		outcome, err = e.Fetch(w.now, rank, f)
		return err
	})
	e, _ := w.of(job, rank)
	if outcome == Found {
		return outcome, keysOf(e.Card(f.Of))
	}
	for _, answer := range w.take() {
		if answer.Kind == EventCard && answer.Rank == rank && answer.Tag == f.Tag {
			return answer.Outcome, keysOf(answer.Pairs)
		}
	}
	return outcome, nil
}

func keysOf(pairs []KV) []string {
	var keys []string
	for _, pair := range pairs {
		keys = append(keys, pair.Key)
	}
	return keys
}

func TestFetchSeesItsScopes(t *testing.T) {
	w := newWorld(t)
	w.job(1, 0, 0, 1)
	w.job(2, 0)
	put(w, 1, 0, "n1", "r1", "g1", "p1")
	for _, test := range []struct {
		job  uint64
		rank int
		f    Fetch
		want []string
	}{
		{1, 1, Fetch{Of: 0}, []string{"n1", "g1"}},
		{1, 1, Fetch{Of: 0, Key: "g1"}, []string{"n1", "g1"}},
		{1, 2, Fetch{Of: 0, Key: "r1"}, []string{"r1", "g1"}},
		{2, 0, Fetch{Job: 1, Of: 0, Key: "r1"}, []string{"r1", "g1"}},
	} {
		if outcome, keys := fetched(w, test.job, test.rank, test.f); outcome != Found || !slices.Equal(keys, test.want) {
			t.Errorf("job %d rank %d asks %+v: %v %v, want %v", test.job, test.rank, test.f, outcome, keys, test.want)
		}
	}
}

func TestFetchWaitsForTheCommit(t *testing.T) {
	w := newWorld(t)
	w.job(1, 0, 0, 1)
	for _, rank := range []int{1, 2} {
		if outcome, _ := fetched(w, 1, rank, Fetch{Tag: 5, Of: 0, Key: "g1"}); outcome != Held {
			t.Fatalf("rank %d: %v", rank, outcome)
		}
	}
	put(w, 1, 0, "g2")
	if got := w.take(); len(got) != 0 {
		t.Fatalf("answered without the key: %+v", got)
	}
	put(w, 1, 0, "g1")
	got := w.take()
	if len(got) != 2 || got[0].Outcome != Found || got[1].Outcome != Found {
		t.Fatalf("%+v", got)
	}
}

func TestFetchEnds(t *testing.T) {
	for name, test := range map[string]struct {
		f    Fetch
		then func(*world)
		want Outcome
	}{
		"immediate":            {Fetch{Of: 0, Key: "k", Immediate: true}, nil, Missing},
		"no such rank":         {Fetch{Of: 9, Key: "k"}, nil, Missing},
		"no such job":          {Fetch{Job: 77, Of: 0, Key: "k"}, nil, Missing},
		"no rank of the other": {Fetch{Job: 2, Of: 5, Key: "k"}, nil, Missing},
		"timed out":            {Fetch{Of: 0, Key: "k", Timeout: 3 * time.Second}, later(3 * time.Second), TimedOut},
		"timed out elsewhere":  {Fetch{Of: 2, Key: "k", Timeout: 3 * time.Second}, later(3 * time.Second), TimedOut},
		"key never comes": {Fetch{Of: 0, Key: "k"}, func(w *world) {
			put(w, 1, 0, "g1")
			later(keyTimeout)(w)
		}, Missing},
		"key never comes elsewhere": {Fetch{Of: 2, Key: "k"}, func(w *world) {
			put(w, 1, 2, "g1")
			later(keyTimeout)(w)
		}, TimedOut},
		"the rank ends": {Fetch{Of: 0, Key: "k"}, func(w *world) {
			w.do(1, 0, func(e *Engine) error { _, err := e.OnDisconnected(0); return err })
		}, Missing},
		"the rank ends elsewhere": {Fetch{Of: 2, Key: "k"}, func(w *world) {
			w.do(1, 2, func(e *Engine) error { _, err := e.OnDisconnected(2); return err })
		}, Missing},
		"the rank finalizes with other keys": {Fetch{Of: 0, Key: "k"}, func(w *world) {
			put(w, 1, 0, "g1")
			w.do(1, 0, func(e *Engine) error { return e.Finalize(0) })
		}, Found},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.job(1, 0, 0, 1)
			w.job(2, 0)
			outcome, _ := fetched(w, 1, 1, test.f)
			if test.then != nil {
				if outcome != Held {
					t.Fatalf("at once: %v", outcome)
				}
				test.then(w)
				for _, answer := range w.take() {
					if answer.Kind == EventCard {
						outcome = answer.Outcome
					}
				}
			}
			if outcome != test.want {
				t.Errorf("%v, want %v", outcome, test.want)
			}
			for at, e := range w.engines {
				if len(e.fetches.waiting) != 0 && test.want != TimedOut || e.fetches.foreign < 0 {
					t.Errorf("%v still waits: %d", at, len(e.fetches.waiting))
				}
			}
		})
	}
}

// later lets time pass on all nodes.
func later(d time.Duration) func(*world) {
	return func(w *world) {
		w.now = w.now.Add(d)
		for at, e := range w.engines {
			if deadline := e.Deadline(); !deadline.IsZero() && !w.now.Before(deadline) {
				e.Tick(w.now)
				w.collect(at)
			}
		}
		w.run()
	}
}

func TestFenceCollectsOnlyWhenAsked(t *testing.T) {
	w := newWorld(t)
	w.job(1, 0, 1)
	fence := func(collect bool) {
		for rank := range 2 {
			w.do(1, rank, func(e *Engine) error { return e.CollectIn(rank, 1, collect) })
		}
		if got := w.take(); len(got) != 2 {
			t.Fatalf("released %d ranks", len(got))
		}
	}
	here, _ := w.of(1, 0)
	put(w, 1, 1, "g1", "n1")
	fence(false)
	if got := here.Card(1); len(got) != 0 {
		t.Fatalf("a fence without data has brought %v", got)
	}
	fence(true)
	if got := keysOf(here.Card(1)); !slices.Equal(got, []string{"g1"}) {
		t.Fatalf("%v", got)
	}
	put(w, 1, 1, "r2")
	fence(true)
	if got := keysOf(here.Card(1)); !slices.Equal(got, []string{"g1", "r2"}) {
		t.Fatalf("%v", got)
	}
}
