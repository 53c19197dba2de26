package sim

import (
	"math"
	"score/channels/residence"
	"score/ctxswitch"
	"testing"
	"time"
)

// TestPlantedBugsInSwitches is TestPlantedBugs for gangs that are switched.
func TestPlantedBugsInSwitches(t *testing.T) {
	const worlds = 300 // each bug is found in a few
	for _, bug := range []struct {
		name      string
		found     Invariant
		residence func(residenceContext) residence.Context // nil: the agent's own
		wrap      func(Context) Context
		plant     func(*cluster)
	}{
		{name: "calls itself flushed at once", found: Clean, residence: func(h residenceContext) residence.Context { return hastyFlush{h} }},
		{name: "accepts while it is away", found: Resident, residence: func(h residenceContext) residence.Context { return fakeSuspend{h} }},
		{name: "does not come back", found: Gang, residence: func(h residenceContext) residence.Context { return noResume{h} }},
		{name: "comes back at once", found: Gang, residence: func(h residenceContext) residence.Context { return earlyResume{h} }},
		{name: "stays on its channel", found: Gang, residence: func(h residenceContext) residence.Context { return noLeave{h} }},
		{name: "brings back no peer", found: Delivery, residence: func(h residenceContext) residence.Context { return noFollow{h} }},
		{name: "loses a message", found: Once, wrap: func(c Context) Context { return &loser{Context: c} }},
		{name: "delivers a message twice", found: Once, wrap: func(c Context) Context { return &doubler{Context: c} }},
		{name: "has no timer", found: Delivery, wrap: func(c Context) Context { return timeless{c} }},
		{name: "does not tell of a dead peer", found: Delivery, wrap: func(c Context) Context { return secretive{c} }},
		{name: "a node's clock is far off", found: Gang, plant: func(k *cluster) { k.hosts[0].wrong = -int64(40 * time.Millisecond) }},
		{name: "a node keeps more contexts on channels than it has", found: Gang, plant: func(k *cluster) {
			k.plan.channels = 1
			for _, h := range k.hosts {
				h.machine = ctxswitch.New(ctxswitch.Config{Channels: 100})
			}
		}},
		{name: "an agent leaves alone who runs again", found: Delivery, residence: func(h residenceContext) residence.Context { return noDrive{h} }},
		{name: "a node knows no plan", found: Gang, plant: func(k *cluster) { k.hosts[0].ignoresPlans = true }},
	} {
		t.Run(bug.name, func(t *testing.T) {
			hunt(t, worlds, bug.found, Options{Kind: Switch, plant: bug.plant, Make: func(s Spec) Context {
				c := newSharedContext(s)
				if bug.residence != nil {
					c.member.Context = bug.residence(residenceContext{c})
				}
				if bug.wrap != nil {
					return bug.wrap(c)
				}
				return c
			}})
		})
	}
}

// hastyFlush reports that all is answered.
type hastyFlush struct{ residenceContext }

func (hastyFlush) Flushed() bool { return true }

// fakeSuspend leaves the context resident, and says otherwise.
type fakeSuspend struct{ residenceContext }

func (h fakeSuspend) Suspend(int64) { h.c.end.left(h.c.Usage().Accepted) }
func (h fakeSuspend) Follow()       {}
func (h fakeSuspend) Away() bool    { return h.c.end.away }

// noResume leaves the context away.
type noResume struct{ residenceContext }

func (h noResume) Resume(int64) {}

// earlyResume brings each tenth context back that left.
type earlyResume struct{ residenceContext }

func (h earlyResume) Suspend(now int64) {
	h.residenceContext.Suspend(now)
	if h.c.dice.chance(100) {
		h.Resume(now)
	}
}

// noLeave does not take the context from its channel.
type noLeave struct{ residenceContext }

func (h noLeave) Suspend(int64) {}

// noFollow does not bring the peers back.
type noFollow struct{ residenceContext }

func (h noFollow) Follow() {
	if h.c.img.Away() {
		h.residenceContext.Follow()
	}
}

// noDrive does not drive contexts that come back.
type noDrive struct{ residenceContext }

func (h noDrive) Back(now int64) {
	h.residenceContext.Back(now)
	h.c.retryAt = math.MaxInt64
}

// mortal has agents die often.
func mortal(k *cluster) {
	for range 8 {
		at := start + k.dicePad.span(0, k.w.calm)
		k.w.queue.add(at, evAgentDies, int32(k.dicePad.below(k.w.nodes)), uint16(k.dicePad.below(1<<16)))
	}
}

// TestSwitchedWorldsDiffer: the seeds must make the worlds they are meant to make.
func TestSwitchedWorldsDiffer(t *testing.T) {
	const n = 1000
	seen := map[string]int{}
	note := func(what string, yes bool) {
		if yes {
			seen[what]++
		}
	}
	for seed := range uint64(n) {
		s, p := drawCluster(&rng{state: seed})
		if err := s.flow.Validate(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if s.nodes < 2 || s.nodes > maxNodes || p.gangs < minGangs || p.gangs > maxGangs || p.slice < shortSlice || p.slice > longSlice || p.skew > maxSkew {
			t.Errorf("seed %d: %d nodes, %d gangs, slice %v, skew %v", seed, s.nodes, p.gangs, time.Duration(p.slice), time.Duration(p.skew))
		}
		note("four nodes or more", s.nodes >= 4)
		note("four gangs", p.gangs == maxGangs)
		note("slices of 5 ms at most", p.slice <= 5*shortSlice)
		note("slices of 20 ms or more", p.slice >= 20*shortSlice)
		note("a skew of 2 ms or more", p.skew >= int64(2*time.Millisecond))
		note("agents that die", p.agents > 0)
		note("ranks that die", p.deaths > 0)
		note("jobs that are ended", p.kills > 0)
		note("jobs that come later", p.later > 0)
		note("a change of the leader", p.leaders > 0)
		note("a clock that is stepped", p.jumps > 0)
		note("a lock that is not given", p.grabs > 0)
		note("freezes that hang", p.hung > 0)
		note("plans that are late", p.latePlan > 0)
		note("jobs stopped by signals", p.signals)
		note("images that are changed", p.hostile > 0)
		note("no loss", s.faults.loss == 0)
		note("contexts that all leave", drawChannels(seed) == 0)
		note("few channels", drawChannels(seed) > 0 && drawChannels(seed) < 100)
		note("stops that are costly", drawCostly(seed, p.slice) > 0)
		note("stops that take longer than half a slice", drawCostly(seed, p.slice) > p.slice/2)
	}
	if len(seen) != 21 {
		t.Errorf("only %d kinds of worlds: %v", len(seen), seen)
	}
	for what, got := range seen {
		if got < n/20 || got > n*19/20 {
			t.Errorf("%d of %d worlds have %s", got, n, what)
		}
	}
}

// TestAgentDiesAnywhere: over some worlds agents die in all that they do with a context.
func TestAgentDiesAnywhere(t *testing.T) {
	acts := map[string]int{}
	for seed := uint64(1); seed <= 1000 && len(acts) < len(deaths); seed++ {
		Run(seed, Options{Kind: Switch, plant: func(k *cluster) {
			mortal(k)
			k.died = func(in string) { acts[in]++ }
		}})
	}
	for _, in := range deaths {
		if acts[in] == 0 {
			t.Errorf("no agent died in %s: %v", in, acts)
		}
	}
}
