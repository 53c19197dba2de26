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
	which = flag.String("sim.context", "mixed", "contexts: flow (flow control alone), drive (images), mixed (by seed), both (each seed with either)")
)

// kinds are the values of -sim.context.
var kinds = map[string][]Kind{"flow": {Flow}, "drive": {Drive}, "mixed": {Mixed}, "both": {Flow, Drive}}

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
	chosen := kinds[*which]
	if chosen == nil {
		t.Fatalf("-sim.context %s: want flow, drive, mixed or both", *which)
	}
	var next, events, frames, delivered atomic.Int64
	var slowest, crashed, switched, driven atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n*len(chosen)) && !t.Failed(); i = next.Add(1) - 1 {
				r := Run(*first+uint64(i)/uint64(len(chosen)), Options{Kind: chosen[i%int64(len(chosen))]})
				if r.Err != nil {
					t.Errorf("seed %d: %v\nrun it: go test ./tests/sim -run TestSeeds -sim.context %s -sim.seed %d -sim.seeds 1", r.Seed, r.Err, *which, r.Seed)
				}
				if r.Driven {
					driven.Add(1)
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
	t.Logf("%d worlds from seed %d, %d of them with images: %d events, %d frames, %d messages delivered; %d with a crash, %d with gangs taking turns; settled within %v of %v",
		n*len(chosen), *first, driven.Load(), events.Load(), frames.Load(), delivered.Load(), crashed.Load(), switched.Load(), time.Duration(slowest.Load()), SettleBound)
}

// TestSameSeedSameRun is what reproducing a failure relies on.
func TestSameSeedSameRun(t *testing.T) {
	for i := range uint64(40) {
		seed, opt := i/2+1, Options{Kind: []Kind{Flow, Drive}[i%2]}
		a, b := Run(seed, opt), Run(seed, opt)
		if a.Digest != b.Digest || a.Events != b.Events || a.Frames != b.Frames || a.Delivered != b.Delivered {
			t.Errorf("seed %d ran twice, and differently:\n%+v\n%+v", seed, a, b)
		}
	}
}
