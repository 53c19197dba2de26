package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/tests/scale"
	"strconv"
	"strings"
	"time"
)

const (
	// scaleBoundaries of each cluster are looked at.
	scaleBoundaries = 60
	// planBench measures the leader's own work for a plan.
	planBench = "BenchmarkPlan"
	// maxScaleLost is what a gang of the largest cluster may lose of a slice of 10 ms, in per cent.
	maxScaleLost = 5
)

var (
	scaleNodes  = []int{2, 64, 1000, 10_000}
	scaleSlices = []time.Duration{100 * time.Millisecond, 10 * time.Millisecond, 2 * time.Millisecond}
)

// scaleGroup models large clusters, from what was measured on a small one.
func scaleGroup(ctx context.Context, b *bench) error {
	costs, err := scaleCosts(ctx, b)
	if err != nil {
		return err
	}
	b.note("costs of %s, measured on %s: %s, slices of %v", costs.Date, costs.Machine, countsOf(costs), costs.Slice)
	b.quantiles("scale_measured_message", &costs.Message)
	bareTimers(b, costs)
	for _, scarce := range []bool{false, true} {
		measured(b, costs, scarce)
		for _, mix := range []scale.Mix{scale.Whole, scale.Small} {
			for _, nodes := range scaleNodes {
				if nodes < mix.Size {
					continue
				}
				if err := modelled(ctx, b, scale.Config{Nodes: nodes, Mix: mix, Costs: costs, Scarce: scarce, Seed: 1}); err != nil {
					return err
				}
			}
		}
	}
	return leadersWork(ctx, b)
}

// measured reports what the model draws from.
func measured(b *bench, costs *scale.Costs, scarce bool) {
	of := &costs.Staying
	if scarce {
		of = &costs.Scarce
	}
	name := scaleName(scarce) + "_measured_"
	b.quantiles(name+"two_nodes", &of.Last)
	for i, info := range ctxswitch.MeasureTable {
		if of.Steps[i].Count() > 0 {
			b.quantiles(name+info.Name, &of.Steps[i])
		}
	}
}

// bareTimers reports what gangs on all nodes would lose if a switch were nothing but a thread that
// wakes.
func bareTimers(b *bench, costs *scale.Costs) {
	b.quantiles("scale_measured_timer", &costs.Timer)
	for _, nodes := range scaleNodes {
		last := costs.TimerLast(nodes)
		b.single(fmt.Sprintf("scale_timer_%dnodes_last", nodes), micros(last.Nanoseconds()), "us", noTarget())
		for _, slice := range scaleSlices {
			b.single(fmt.Sprintf("scale_timer_%dnodes_slice_%s_lost", nodes, slice), 100*last.Seconds()/slice.Seconds(), "%", noTarget())
		}
	}
}

func scaleName(scarce bool) string {
	if scarce {
		return "scale_scarce"
	}
	return "scale"
}

// scaleCosts are those that the model comes with, or new ones.
func scaleCosts(ctx context.Context, b *bench) (*scale.Costs, error) {
	if b.record == "" {
		return scale.Recorded()
	}
	if err := recordCosts(ctx, b, b.record); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(b.record)
	if err != nil {
		return nil, err
	}
	return scale.Parse(data)
}

func countsOf(c *scale.Costs) string {
	return fmt.Sprintf("%d switches, %d with scarce channels, %d messages, %v for each node of a plan",
		c.Staying.Last.Count(), c.Scarce.Last.Count(), c.Message.Count(), c.PlanPerNode)
}

// modelled reports one cluster, with slices of several lengths.
func modelled(ctx context.Context, b *bench, c scale.Config) error {
	name := fmt.Sprintf("%s_%s_%dnodes", scaleName(c.Scarce), c.Mix.Name, c.Nodes)
	c.Boundaries = max(scaleBoundaries, 6000/c.Nodes)
	for _, slice := range scaleSlices {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.Slice = slice
		r, err := scale.Run(c)
		if err != nil {
			return err
		}
		b.model(fmt.Sprintf("%s_slice_%s", name, slice), r, lostTarget(&c))
		if slice == scaleSlices[0] {
			b.modelPlan(name, r)
		}
	}
	return nil
}

// lostTarget is for the largest cluster whose gangs have it whole, at slices of 10 ms.
func lostTarget(c *scale.Config) target {
	if c.Scarce || c.Mix != scale.Whole || c.Nodes < scaleNodes[len(scaleNodes)-1] || c.Slice != 10*time.Millisecond {
		return noTarget()
	}
	return atMost("value", maxScaleLost)
}

// model reports the switches of a cluster.
func (r *report) model(name string, m *scale.Result, lost target) {
	r.quantiles(name+"_node", &m.Node)
	r.quantiles(name+"_gang", &m.Gang)
	r.note("%s: the last node's mean: %v", name, &m.Terms)
	r.single(name+"_lost", 100*m.Lost, "%", lost)
	r.single(name+"_clean", 100*m.Clean, "%", noTarget())
	r.single(name+"_broken", float64(m.Broken), "slices", noTarget())
	r.single(name+"_superseded", float64(m.Superseded), "switches", noTarget())
}

// quantiles reports a distribution of durations.
func (r *report) quantiles(name string, h *histogram.Histogram) {
	r.single(name+"_median", micros(h.Quantile(0.5).Nanoseconds()), "us", noTarget())
	r.single(name+"_p99", micros(h.Quantile(0.99).Nanoseconds()), "us", noTarget())
	r.single(name+"_max", micros(h.Max().Nanoseconds()), "us", noTarget())
}

// modelPlan reports a new plan that comes while gangs take turns.
func (r *report) modelPlan(name string, m *scale.Result) {
	r.single(name+"_new_plan_work", micros(m.PlanWork.Nanoseconds()), "us", noTarget())
	r.single(name+"_new_plan_lead", micros(m.Lead.Nanoseconds()), "us", noTarget())
	r.single(name+"_new_plan_late", 100*m.LatePlans, "%", noTarget())
	r.single(name+"_new_plan_last", micros(m.Change.Nanoseconds()), "us", noTarget())
}

// leadersWork measures what the leader does by itself for a plan: deciding, making every node's
// message, encoding it.
func leadersWork(ctx context.Context, b *bench) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+planBench+"$", "-benchtime", "10x", "./scored/leader").Output()
	if err != nil {
		return fmt.Errorf("go test -bench: %w: %s", err, out)
	}
	found := false
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], planBench+"/") {
			continue
		}
		ns, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return err
		}
		found = true
		name, _, _ := strings.Cut(strings.NewReplacer(planBench+"/", "", "/", "_", "nodes=", "", "mix=", "nodes_").Replace(fields[0]), "-")
		b.single("scale_leader_makes_plan_"+name, ns/nanosPerMilli, "ms", noTarget())
	}
	if !found {
		return errShortOutput
	}
	return nil
}
