package main

import (
	"context"
	"fmt"
	"score/scored/api/scorev1"
	"time"

	"connectrpc.com/connect"
)

const (
	switchSlice = 10 * time.Millisecond
	// switchRun gives a thousand switches, enough for a 99th percentile.
	switchRun = 12 * time.Second
	// switchTarget and switchTail are the median and the 99th percentile from the planned instant
	// to the new gang running on all nodes.
	switchTarget = 30.0 // microseconds
	switchTail   = 100.0
)

// switchGroup lets two spinning two-rank jobs share two nodes of one CPU each
// and reads what the switches cost.
func switchGroup(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, clusterOptions{nodes: 2, slice: switchSlice})
	if err != nil {
		return err
	}
	defer c.stop()
	m, err := c.switches(ctx, "sh", "-c", "while :; do :; done")
	if err != nil {
		return err
	}
	return reportSwitches(b, m)
}

// switches has two jobs of a program take turns on two nodes, and is what the switches cost.
func (c *cluster) switches(ctx context.Context, program ...string) (*scorev1.SwitchMetricsResponse, error) {
	var ids []uint64
	for range 2 {
		id, err := c.submit(ctx, append([]string{"-N", "2", "-n", "2"}, program...)...)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(switchRun):
	}
	m, err := c.Cluster.SwitchMetrics(ctx, connect.NewRequest(&scorev1.SwitchMetricsRequest{}))
	if err != nil {
		return nil, err
	}
	return m.Msg, c.cancel(ctx, ids...)
}

func reportSwitches(b *bench, m *scorev1.SwitchMetricsResponse) error {
	all := m.GetToRunning()
	if all.GetCount() == 0 {
		return fmt.Errorf("no switch was recorded: %w", errNaN)
	}
	b.single("switch_count", float64(all.GetCount()), "switches", noTarget())
	b.single("switch_planned_to_running_median", micros(all.GetMedianNanos()), "us", atMost("value", switchTarget))
	b.single("switch_planned_to_running_p99", micros(all.GetP99Nanos()), "us", atMost("value", switchTail))
	b.single("switch_planned_to_running_max", micros(all.GetMaxNanos()), "us", noTarget())
	b.single("switch_skew_median", micros(m.GetSkew().GetMedianNanos()), "us", noTarget())
	b.single("switch_skew_p99", micros(m.GetSkew().GetP99Nanos()), "us", noTarget())
	b.single("switch_late_freezes", float64(m.GetLateFreezes()), "freezes", noTarget())
	b.single("switch_missed_boundaries", float64(m.GetMissedBoundaries()), "boundaries", noTarget())
	for _, g := range m.GetGroups() {
		if g.GetJobId() != 0 {
			continue
		}
		for _, s := range g.GetSteps() {
			if s.GetCount() > 0 {
				b.single(fmt.Sprintf("switch_step_%s_%s_median", g.GetNode(), s.GetStep()), micros(s.GetMedianNanos()), "us", noTarget())
			}
		}
	}
	return nil
}

func micros(nanos int64) float64 { return float64(nanos) / 1e3 }
