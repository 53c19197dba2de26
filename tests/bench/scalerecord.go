package main

import (
	"context"
	"fmt"
	"os"
	"score/ctxswitch"
	"score/ctxswitch/histogram"
	"score/scored/api/scorev1"
	"score/tests/scale"
	"time"

	"connectrpc.com/connect"
)

const (
	// recordSlice is short, so that many switches are seen, and leaves time for each.
	recordSlice = 5 * time.Millisecond
	// recordRun gives each node 30,000 switches: the model's largest clusters draw the rarest of
	// them at most boundaries.
	recordRun = 150 * time.Second
)

// recordCosts measures on this machine what the model of scale draws from.
func recordCosts(ctx context.Context, b *bench, path string) error {
	c := &scale.Costs{Machine: machineName(), Date: time.Now().UTC().Format(time.DateOnly), Slice: recordSlice}
	if err := recordLeader(ctx, b, c); err != nil {
		return err
	}
	if err := recordTimer(ctx, &c.Timer); err != nil {
		return err
	}
	for scarce, switches := range map[bool]*scale.Switches{false: &c.Staying, true: &c.Scarce} {
		if err := recordSwitches(ctx, b, switches, scarce); err != nil {
			return err
		}
	}
	if err := c.Write(path); err != nil {
		return err
	}
	b.note("recorded %s to %s", countsOf(c), path)
	return nil
}

// recordSwitches lets two gangs that exchange messages take turns on two nodes.
func recordSwitches(ctx context.Context, b *bench, c *scale.Switches, scarce bool) error {
	k, err := startCluster(ctx, b, clusterOptions{nodes: 2, slice: recordSlice})
	if err != nil {
		return err
	}
	defer k.stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append(append([]string{"-N", "2", "-n", "2"}, asked(scarce)...), self, exchangeRank, traffics[0].window)
	for range 2 {
		if _, err := k.submit(ctx, args...); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(recordRun):
	}
	m, err := k.Cluster.SwitchMetrics(ctx, connect.NewRequest(&scorev1.SwitchMetricsRequest{Histograms: true}))
	if err != nil {
		return err
	}
	return takeSwitches(c, m.Msg)
}

// takeSwitches merges what the nodes have told.
func takeSwitches(c *scale.Switches, m *scorev1.SwitchMetricsResponse) error {
	if err := c.Last.UnmarshalBinary(m.GetToRunning().GetHistogram()); err != nil {
		return err
	}
	for _, g := range m.GetGroups() {
		if g.GetJobId() != 0 {
			continue
		}
		for _, s := range g.GetSteps() {
			if err := mergeStep(&c.Steps, s); err != nil {
				return fmt.Errorf("node %s: %w", g.GetNode(), err)
			}
		}
		f := g.GetFlushes()
		c.Flushes.Clean += f.GetClean()
		c.Flushes.CutOff += f.GetCutOff()
		c.Flushes.Held += f.GetHeld()
	}
	return nil
}

func mergeStep(steps *ctxswitch.Measures, s *scorev1.StepTimes) error {
	for i, info := range ctxswitch.MeasureTable {
		if info.Name != s.GetStep() {
			continue
		}
		var h histogram.Histogram
		if err := h.UnmarshalBinary(s.GetHistogram()); err != nil {
			return fmt.Errorf("%s: %w", info.Name, err)
		}
		steps[i].Merge(&h)
	}
	return nil
}
