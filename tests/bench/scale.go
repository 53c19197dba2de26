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
	b.quantiles("scale_measured_two_nodes", &costs.Last)
	b.quantiles("scale_measured_message", &costs.Message)
	for i, info := range ctxswitch.MeasureTable {
		b.quantiles("scale_measured_"+info.Name, &costs.Steps[i])
	}
	for _, mix := range []scale.Mix{scale.Whole, scale.Small} {
		for _, nodes := range scaleNodes {
			if nodes < mix.Size {
				continue
			}
			if err := modelled(ctx, b, costs, mix, nodes); err != nil {
				return err
			}
		}
	}
	return leadersWork(ctx, b)
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
	return fmt.Sprintf("%d switches, %d messages, %v for each node of a plan", c.Last.Count(), c.Message.Count(), c.PlanPerNode)
}

// modelled reports one cluster, with slices of several lengths.
func modelled(ctx context.Context, b *bench, costs *scale.Costs, mix scale.Mix, nodes int) error {
	for _, slice := range scaleSlices {
		if err := ctx.Err(); err != nil {
			return err
		}
		boundaries := max(scaleBoundaries, 6000/nodes)
		r, err := scale.Run(scale.Config{Nodes: nodes, Mix: mix, Slice: slice, Boundaries: boundaries, Costs: costs, Seed: 1})
		if err != nil {
			return err
		}
		b.model(fmt.Sprintf("scale_%s_%dnodes_slice_%s", mix.Name, nodes, slice), r)
		if slice == scaleSlices[0] {
			b.modelPlan(fmt.Sprintf("scale_%s_%dnodes", mix.Name, nodes), r)
		}
	}
	return nil
}

// model reports the switches of a cluster.
func (r *report) model(name string, m *scale.Result) {
	r.quantiles(name+"_node", &m.Node)
	r.quantiles(name+"_gang", &m.Gang)
	r.single(name+"_lost", 100*m.Lost, "%", noTarget())
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
