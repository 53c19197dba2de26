package sim

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds = flag.Int("sim.seeds", 10_000, "worlds to run")
	first = flag.Uint64("sim.seed", 1, "first seed")
)

// TestSeeds runs worlds, and prints the seed of those in which something does
// not hold.
func TestSeeds(t *testing.T) {
	n := *seeds
	switch {
	case raceEnabled:
		n = min(n, 100)
	case testing.Short():
		n = min(n, 500)
	}
	var next, events, frames, delivered atomic.Int64
	var slowest, crashed, switched atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !t.Failed(); i = next.Add(1) - 1 {
				r := Run(*first+uint64(i), Options{})
				if r.Err != nil {
					t.Errorf("seed %d: %v\nrun it: go test ./tests/sim -run TestSeeds -sim.seed %d -sim.seeds 1", r.Seed, r.Err, r.Seed)
				}
				events.Add(int64(r.Events))
				frames.Add(int64(r.Frames))
				delivered.Add(int64(r.Delivered))
				if r.Crashed {
					crashed.Add(1)
				} else if s := int64(r.Settle); s > slowest.Load() {
					slowest.Store(s) // a lost update makes the log line less exact
				}
				if r.Switched {
					switched.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d worlds from seed %d: %d events, %d frames, %d messages delivered; %d with a crash, %d with gangs taking turns; settled within %v of %v",
		n, *first, events.Load(), frames.Load(), delivered.Load(), crashed.Load(), switched.Load(), time.Duration(slowest.Load()), SettleBound)
}

// TestSameSeedSameRun is what reproducing a failure relies on.
func TestSameSeedSameRun(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		a, b := Run(seed, Options{}), Run(seed, Options{})
		if a.Digest != b.Digest || a.Events != b.Events || a.Frames != b.Frames || a.Delivered != b.Delivered {
			t.Errorf("seed %d ran twice, and differently:\n%+v\n%+v", seed, a, b)
		}
	}
}
