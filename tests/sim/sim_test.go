package sim

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seeds = flag.Int("sim.seeds", 10_000, "worlds to run")
	first = flag.Uint64("sim.seed", 1, "first seed")
	which = flag.String(
		"sim.context",
		"mixed",
		"worlds: flow (flow control alone), drive (images), switch (gangs that are switched), transports (gangs whose ranks do rendezvous, puts, gets and atomics), "+
			"mixed (each seed as one of the first two and as the third, one in 20 as the fourth), all (each seed as each)",
	)
)

// kinds are the values of -sim.context.
var kinds = map[string][]Kind{
	"flow": {Flow}, "drive": {Drive}, "switch": {Switch}, "transports": {Transports},
	"mixed": {Mixed, Switch, Transports}, "all": {Flow, Drive, Switch, Transports},
}

// transportShare is how much rarer worlds with transports are among others: one has thousands of
// datagrams.
const transportShare = 20

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
		t.Fatalf("-sim.context %s: want flow, drive, switch, transports, mixed or all", *which)
	}
	for _, kind := range chosen {
		n := n
		if kind == Transports && len(chosen) > 1 {
			n /= transportShare
		}
		var all tally
		var next atomic.Int64
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for i := next.Add(1) - 1; i < int64(n) && !t.Failed(); i = next.Add(1) - 1 {
					r := Run(*first+uint64(i), Options{Kind: kind})
					if r.Err != nil {
						t.Errorf(
							"seed %d: %v\nrun it: go test ./tests/sim -run TestSeeds -sim.context %s -sim.seed %d -sim.seeds 1",
							r.Seed,
							r.Err,
							nameOf(kind),
							r.Seed,
						)
					}
					all.add(&r)
				}
			})
		}
		wg.Wait()
		t.Logf("%s: %d worlds from seed %d: %s", nameOf(kind), n, *first, all.String())
	}
}

// nameOf is the value of -sim.context that runs a kind.
func nameOf(k Kind) string {
	return [...]string{Mixed: "mixed", Flow: "flow", Drive: "drive", Switch: "switch", Transports: "transports"}[k]
}

// tally adds up what came of worlds.
type tally struct {
	mu                        sync.Mutex
	sum                       Result
	crashed, switched, driven int
}

func (a *tally) add(r *Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	count(&a.crashed, r.Crashed)
	count(&a.switched, r.Switched)
	count(&a.driven, r.Driven)
	s := &a.sum
	s.Events, s.Frames, s.Delivered = s.Events+r.Events, s.Frames+r.Frames, s.Delivered+r.Delivered
	s.Switches, s.Restarts, s.Audits = s.Switches+r.Switches, s.Restarts+r.Restarts, s.Audits+r.Audits
	s.Stays += r.Stays
	s.Early += r.Early
	s.Operations, s.Bulk, s.BulkLost, s.Frozen = s.Operations+r.Operations, s.Bulk+r.Bulk, s.BulkLost+r.BulkLost, s.Frozen+r.Frozen
	s.Clean, s.CutOff, s.Held, s.Unanswered = s.Clean+r.Clean, s.CutOff+r.CutOff, s.Held+r.Held, s.Unanswered+r.Unanswered
	if !r.Crashed {
		s.Settle = max(s.Settle, r.Settle)
	}
}

func (a *tally) String() string {
	s := &a.sum
	text := fmt.Sprintf("%d of images, %d with a death, %d with gangs taking turns; %d events, %d frames, %d messages; settled within %v",
		a.driven, a.crashed, a.switched, s.Events, s.Frames, s.Delivered, s.Settle)
	if s.Switches > 0 {
		text += fmt.Sprintf(
			"; %d switches, %d stops ahead of them, %d agents restarted; contexts that left: %d clean, %d cut off, %d held, %d with something unanswered before; %d audits, %d of gangs that were off on their channels",
			s.Switches,
			s.Early,
			s.Restarts,
			s.Clean,
			s.CutOff,
			s.Held,
			s.Unanswered,
			s.Audits,
			s.Stays,
		)
	}
	if s.Operations > 0 {
		text += fmt.Sprintf("; %d operations, %d bulk datagrams, %d lost, %d came while their process stood still",
			s.Operations, s.Bulk, s.BulkLost, s.Frozen)
	}
	return text
}

// TestSameSeedSameRun is what reproducing a failure relies on.
func TestSameSeedSameRun(t *testing.T) {
	for i := range uint64(80) {
		seed, opt := i/4+1, Options{Kind: []Kind{Flow, Drive, Switch, Transports}[i%4]}
		a, b := Run(seed, opt), Run(seed, opt)
		if a.Digest != b.Digest || a.Events != b.Events || a.Frames != b.Frames || a.Delivered != b.Delivered {
			t.Errorf("seed %d ran twice, and differently:\n%+v\n%+v", seed, a, b)
		}
	}
}
