package scale

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"testing"
	"time"
)

// short is how many boundaries the tests look at.
const short = 24

func costs(t testing.TB) *Costs {
	t.Helper()
	c, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t testing.TB, c Config) *Result {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes, %s, %v: %v", c.Nodes, c.Mix.Name, c.Slice, r)
	return r
}

// worst is what a switch may take at most with these costs, whatever the number of nodes: every
// step as long as the longest seen, and the clocks as wrong as the longest way of a heartbeat
// allows, with what they drift in a window of samples.
func worst(c *Costs, of *Switches) time.Duration {
	steps := []ctxswitch.Measure{
		ctxswitch.MeasureWake, ctxswitch.MeasureRevoke, ctxswitch.MeasureFlush, ctxswitch.MeasureSave, ctxswitch.MeasureLoad, ctxswitch.MeasureGo,
	}
	sum := 2*c.Message.Max() + 200*time.Microsecond
	for _, m := range steps {
		sum += min(of.Steps[m].Max(), patience[m])
	}
	return sum
}

// patience is how long the machine waits for each step, and how late its thread may be.
var patience = map[ctxswitch.Measure]time.Duration{
	ctxswitch.MeasureWake: time.Second, ctxswitch.MeasureRevoke: ctxswitch.RevokeTimeout, ctxswitch.MeasureFlush: ctxswitch.FlushTimeout,
	ctxswitch.MeasureSave: ctxswitch.SaveTimeout, ctxswitch.MeasureLoad: ctxswitch.LoadTimeout, ctxswitch.MeasureGo: ctxswitch.GoTimeout,
}

// TestGrowthIsBounded: with the nodes the switch of a gang grows, since the last of more nodes is
// later, but never beyond what the slowest node alone would take; the median node's does not grow;
// and nobody misses a boundary.
func TestGrowthIsBounded(t *testing.T) {
	c := costs(t)
	for _, mix := range []Mix{Whole, Small} {
		t.Run(mix.Name, func(t *testing.T) { grow(t, Config{Mix: mix, Costs: c}, worst(c, &c.Staying)) })
		t.Run(mix.Name+", scarce", func(t *testing.T) { grow(t, Config{Mix: mix, Costs: c, Scarce: true}, worst(c, &c.Scarce)) })
	}
}

// grow compares clusters that have more and more nodes.
func grow(t *testing.T, c Config, timeout time.Duration) {
	c.Slice, c.Boundaries, c.Seed = 100*time.Millisecond, short, 1
	var before *Result
	for _, c.Nodes = range []int{64, 1000} {
		r := run(t, c)
		if r.Missed > 0 || r.Broken > 0 || r.Superseded > 0 {
			t.Errorf("%d nodes: %d boundaries were missed by %d gangs, %d switches broken off", c.Nodes, r.Missed, r.Broken, r.Superseded)
		}
		if r.Gang.Max() > timeout {
			t.Errorf("%d nodes: the last node of a gang ran after %v, its steps explain %v", c.Nodes, r.Gang.Max(), timeout)
		}
		if r.LatePlans > 0 {
			t.Errorf("%d nodes: %.3g %% had a plan after it came into force", c.Nodes, 100*r.LatePlans)
		}
		if before != nil {
			compare(t, c.Mix, before, r)
		}
		before = r
	}
}

func mean(h *histogram.Histogram) time.Duration { return time.Duration(h.Sum() / h.Count()) }

// compare looks at what more nodes change.
func compare(t *testing.T, mix Mix, few, many *Result) {
	t.Helper()
	if x, y := few.Node.Quantile(0.5), many.Node.Quantile(0.5); y > x*5/4 {
		t.Errorf("the median node took %v, of more nodes %v", x, y)
	}
	x, y := mean(&few.Gang), mean(&many.Gang) // a median may lie between gangs with and without a late flush
	switch {
	case mix.Size == 0 && y < x:
		t.Errorf("the last node of a gang took %v, of a larger one %v", x, y)
	case mix.Size > 0 && y > x*5/4:
		t.Errorf("the last node of a gang took %v, with more gangs of the same size %v", x, y)
	}
}

// TestTwoNodesAsMeasured: with two nodes the model gives what was measured on two. Clocks are off
// by up to a heartbeat's way in the model, and hardly on a machine where all ways are alike.
func TestTwoNodesAsMeasured(t *testing.T) {
	c := costs(t)
	for scarce, of := range map[bool]*Switches{false: &c.Staying, true: &c.Scarce} {
		r := run(t, Config{Nodes: 2, Mix: Whole, Slice: c.Slice, Boundaries: 4000, Costs: c, Scarce: scarce, Seed: 1})
		for _, q := range []float64{0.25, 0.5, 0.75} {
			model, measured := r.Gang.Quantile(q), of.Last.Quantile(q)
			if model > 2*measured+c.Message.Quantile(0.5) || measured > 2*model {
				t.Errorf("scarce %v, quantile %v of the last node's: %v in the model, %v measured", scarce, q, model, measured)
			}
		}
	}
}

// TestTerms: what the last node's time consists of adds up to it; with contexts that stay nothing
// is flushed, and with scarce channels something is.
func TestTerms(t *testing.T) {
	c := Config{Nodes: 20, Mix: Whole, Slice: 100 * time.Millisecond, Boundaries: short, Costs: costs(t), Seed: 1}
	stay := run(t, c)
	c.Scarce = true
	leave := run(t, c)
	for _, r := range []*Result{stay, leave} {
		sum := time.Duration(0)
		for _, d := range r.Terms.all() {
			sum += *d
		}
		if mean := mean(&r.Gang); (sum - mean).Abs() > mean/20 {
			t.Errorf("%v is %v, the mean of the last nodes %v", &r.Terms, sum, mean)
		}
	}
	if x := stay.Terms; x.Revoke+x.Flush+x.Save+x.Load != 0 || leave.Terms.Flush == 0 {
		t.Errorf("contexts that stay: %v; that leave: %v", &x, &leave.Terms)
	}
}

// TestSameSeed: a run can be repeated, and another seed is another run.
func TestSameSeed(t *testing.T) {
	c := Config{Nodes: 16, Mix: Small, Slice: 10 * time.Millisecond, Boundaries: short, Costs: costs(t), Seed: 7}
	one, two := run(t, c), run(t, c)
	if *one != *two {
		t.Errorf("the same seed gave %v and %v", one, two)
	}
	c.Seed++
	if other := run(t, c); other.Node == one.Node {
		t.Error("another seed gave the same")
	}
}

// TestShortSlice: a switch whose steps each take all of their time, longer than a slice together,
// does not come to its end, and the gang's slice is lost.
func TestShortSlice(t *testing.T) {
	c := *costs(t)
	for _, step := range []ctxswitch.Measure{ctxswitch.MeasureRevoke, ctxswitch.MeasureFlush, ctxswitch.MeasureSave, ctxswitch.MeasureLoad} {
		c.Scarce.Steps[step].Reset()
		c.Scarce.Steps[step].Record(500 * time.Microsecond)
	}
	long := run(t, Config{Nodes: 20, Mix: Whole, Slice: 100 * time.Millisecond, Boundaries: short, Costs: &c, Scarce: true, Seed: 1})
	brief := run(t, Config{Nodes: 20, Mix: Whole, Slice: time.Millisecond, Boundaries: short, Costs: &c, Scarce: true, Seed: 1})
	if long.Broken > 0 || brief.Broken == 0 || brief.Missed == 0 || brief.Lost < 0.5 || brief.Lost > 1 {
		t.Errorf("slices of 100 ms: %v; of 1 ms: %v", long, brief)
	}
}

// TestLatePlan: if the leader's work took longer than the plan's lead, that would be seen.
func TestLatePlan(t *testing.T) {
	c := *costs(t)
	c.PlanPerNode = 100 * time.Microsecond
	r := run(t, Config{Nodes: 200, Mix: Whole, Slice: 100 * time.Millisecond, Boundaries: 4, Costs: &c, Seed: 1})
	if r.LatePlans < 0.5 || r.Change < 10*time.Millisecond {
		t.Errorf("%.3g %% of the plans were late, and the gang ran after %v", 100*r.LatePlans, r.Change)
	}
}

func TestBadConfig(t *testing.T) {
	c := costs(t)
	for name, config := range map[string]Config{
		"nothing":     {},
		"no costs":    {Nodes: 2, Mix: Whole, Slice: time.Second, Boundaries: 4},
		"no slice":    {Nodes: 2, Mix: Whole, Boundaries: 4, Costs: c},
		"short slice": {Nodes: 2, Mix: Whole, Slice: 1, Boundaries: 4, Costs: c},
		"few nodes":   {Nodes: 3, Mix: Small, Slice: time.Second, Boundaries: 4, Costs: c},
	} {
		if _, err := Run(config); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}

func TestCostsRoundTrip(t *testing.T) {
	c := costs(t)
	path := filepath.Join(t.TempDir(), "costs.json")
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if *back != *c {
		t.Error("they came back different")
	}
}

func TestBadCosts(t *testing.T) {
	for _, data := range []string{"", "{}", `{"staying":{"wake":"AQ=="}}`, `{"scarce":{"wake":"/w=="}}`, `{"machine":3}`} {
		if _, err := Parse([]byte(data)); !errors.Is(err, ErrCosts) {
			t.Errorf("%s: %v", data, err)
		}
	}
	if err := new(Costs).Write(filepath.Join(t.TempDir(), "x")); !errors.Is(err, ErrCosts) {
		t.Errorf("empty costs were written: %v", err)
	}
}

// BenchmarkRun is what a node costs the model for one boundary.
func BenchmarkRun(b *testing.B) {
	for _, nodes := range []int{64, 1000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for b.Loop() {
				run(b, Config{Nodes: nodes, Mix: Whole, Slice: 100 * time.Millisecond, Boundaries: short, Costs: costs(b), Seed: 1})
			}
		})
	}
}

// TestTimerLast: the last of one node is as late as the mean, of many nodes as late as the latest.
func TestTimerLast(t *testing.T) {
	var c Costs
	for ms := range 100 {
		c.Timer.Record(time.Duration(ms) * time.Millisecond)
	}
	for _, k := range []struct {
		nodes int
		want  time.Duration
	}{{1, 49500 * time.Microsecond}, {2, 66 * time.Millisecond}, {100_000, 99 * time.Millisecond}} {
		if got := c.TimerLast(k.nodes); (got - k.want).Abs() > time.Millisecond {
			t.Errorf("%d nodes: %v, want about %v", k.nodes, got, k.want)
		}
	}
}
