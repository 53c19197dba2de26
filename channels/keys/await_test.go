package keys

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// longWait is what no test needs: who waits for it was not woken.
const longWait = 5 * time.Minute

// Readers sleep until each value is there, however put and announcement fall between their looks;
// each reader maps the file for itself.
func TestAwait(t *testing.T) {
	const rounds, readers = 300, 4
	s := create(t, readers)
	var all sync.WaitGroup
	for reader := range readers {
		v := open(t, s)
		all.Go(func() {
			for round := range rounds {
				value, ok, err := v.Await(round%readers, fmt.Sprint("key ", round), longWait)
				if err != nil || !ok || string(value) != fmt.Sprint("value ", round) {
					t.Errorf("reader %d, round %d: %q, %v, %v", reader, round, value, ok, err)
					return
				}
			}
		})
	}
	for round := range rounds {
		if err := s.Put(round%readers, fmt.Sprint("key ", round), fmt.Sprint("value ", round)); err != nil {
			t.Fatal(err)
		}
		if round%3 != 1 { // some are announced together
			s.Announce()
		}
	}
	s.Announce()
	all.Wait()
}

// Await returns after its timeout if the value does not come, and at once if it is there already.
func TestAwaitEnds(t *testing.T) {
	s := create(t, 2)
	v := open(t, s)
	const patience = 20 * time.Millisecond
	began := time.Now()
	if _, ok, err := v.Await(0, "never", patience); ok || err != nil || time.Since(began) < patience {
		t.Errorf("%v, %v after %v", ok, err, time.Since(began))
	}
	if err := s.Put(1, "here", "x"); err != nil {
		t.Fatal(err)
	}
	for _, timeout := range []time.Duration{-1, 0, longWait} { // it was not even announced
		if value, ok, err := v.Await(1, "here", timeout); !ok || err != nil || string(value) != "x" {
			t.Errorf("%q, %v, %v", value, ok, err)
		}
	}
	for _, rank := range []int{-1, 2} {
		if _, _, err := v.Await(rank, "here", longWait); !errors.Is(err, ErrRank) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// BenchmarkAwait is from the put of a value, on one processor, to the return of who slept for it,
// on another, and back.
func BenchmarkAwait(b *testing.B) {
	there, back := create(b, 1), create(b, 1)
	here, away := open(b, back), open(b, there)
	var echo sync.WaitGroup
	rounds := b.N
	echo.Go(func() {
		for i := range rounds {
			if _, ok, _ := away.Await(0, fmt.Sprint(i), longWait); !ok || back.Put(0, fmt.Sprint(i), "") != nil {
				return
			}
			back.Announce()
		}
	})
	for i := range rounds {
		if there.Put(0, fmt.Sprint(i), "") != nil {
			b.Skip("the store is full")
		}
		there.Announce()
		if _, ok, _ := here.Await(0, fmt.Sprint(i), longWait); !ok {
			b.Fatal("no answer")
		}
	}
	echo.Wait()
}

// BenchmarkAnnounce is what waiting readers cost a writer that has none.
func BenchmarkAnnounce(b *testing.B) {
	s := create(b, 64)
	for b.Loop() {
		s.changed = 1
		s.Announce()
	}
}
