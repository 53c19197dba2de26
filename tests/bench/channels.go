package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"score/tests/bench/messages"
	"strings"
	"time"
)

// What a message may cost, relative to the peer that is named.
const (
	shmLatencyTarget  = 0.65 // of UCX over POSIX shared memory
	udpLatencyTarget  = 0.65 // of UCX over TCP
	bareLatencyTarget = 1.3  // of two processes that only send and poll
	shmRateTarget     = 1.5  // times UCX
	udpRateTarget     = 4.0
	bandwidthTarget   = 1.0
)

// What an inbox and its agent may cost.
const (
	goodputTarget     = 0.9 // of the receiver's speed
	refusedTarget     = 5.0 // per cent of what was sent
	acknowledgeTarget = 2.0 // milliseconds
	agentTarget       = 2.0 // per cent of a CPU
	peerTarget        = 128.0
	contextTarget     = 8.0 // MB
	otherRuns         = 5   // of what has no peer
)

// contestant is a program that measures a plan.
type contestant struct {
	name    string
	paths   []messages.Path
	measure func(context.Context, messages.Path, messages.Plan) (messages.Curve, error)
}

const (
	ours = "score"
	ucx  = "ucx"
	bare = "bare"
)

var bothPaths = []messages.Path{messages.Shm, messages.UDP}

// channelsGroup measures messages beside their peers.
func channelsGroup(ctx context.Context, b *bench) error {
	all, err := contestants(ctx, b)
	if err != nil {
		return err
	}
	series, err := curves(ctx, b.runs, all)
	if err != nil {
		return err
	}
	messageFigures(b, series)
	if err := writeCurves(b.out, "channels", series); err != nil {
		return err
	}
	return otherFigures(ctx, b)
}

// contestants are the library, and those of the peers that are installed.
func contestants(ctx context.Context, b *bench) ([]contestant, error) {
	all := []contestant{library(ours, messages.Switches{Immediate: true, Overlap: true})}
	peer := messages.UCX{Dir: b.work}
	if packages := peer.Missing(); packages == "" {
		all = append(all, contestant{ucx, bothPaths, peer.Measure})
	} else {
		skip(ucx, packages)
	}
	all = append(all, contestant{bare, []messages.Path{messages.UDP}, func(ctx context.Context, _ messages.Path, p messages.Plan) (messages.Curve, error) {
		return messages.Bare(ctx, p)
	}})
	mpis, err := installedMPIs(ctx, b)
	if err != nil {
		return nil, err
	}
	all = append(all, mpis...)
	return append(all,
		library("score, not immediate", messages.Switches{Overlap: true}),
		library("score, no overlap", messages.Switches{Immediate: true}),
		library("score, neither", messages.Switches{})), nil
}

func library(name string, s messages.Switches) contestant {
	return contestant{name, bothPaths, func(ctx context.Context, path messages.Path, p messages.Plan) (messages.Curve, error) {
		return messages.Ours(ctx, path, p, s)
	}}
}

func skip(name, packages string) {
	fmt.Printf("# skipped: the peer %s is not installed (apt-get install %s)\n", name, packages)
}

// series has the runs of each contestant on each path.
type series map[messages.Path]map[string][]messages.Curve

// curves lets the contestants measure in turns, there and back, so that those that are compared run
// within seconds of each other and none is always the first.
func curves(ctx context.Context, runs int, all []contestant) (series, error) {
	s := series{}
	for _, path := range bothPaths {
		s[path] = map[string][]messages.Curve{}
		plan := messages.NewPlan(path)
		for run := range runs {
			for i := range all {
				c := all[i]
				if run%2 == 1 {
					c = all[len(all)-1-i]
				}
				if !hasPath(c, path) {
					continue
				}
				curve, err := c.measure(ctx, path, plan)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
				s[path][c.name] = append(s[path][c.name], curve)
			}
		}
	}
	return s, nil
}

func hasPath(c contestant, path messages.Path) bool {
	for _, p := range c.paths {
		if p == path {
			return true
		}
	}
	return false
}

// values are one number of each run.
func values(runs []messages.Curve, of func(messages.Curve) float64) []float64 {
	var xs []float64
	for _, c := range runs {
		xs = append(xs, of(c))
	}
	return xs
}

func latency(size int) func(messages.Curve) float64 {
	return func(c messages.Curve) float64 { return c.Latency[size] / 1e3 }
}

func rate(c messages.Curve) float64 { return c.Rate(8) }

func bandwidth(size int) func(messages.Curve) float64 {
	return func(c messages.Curve) float64 { return c.Bandwidth(size) }
}

// messageFigures compares with every peer; the targets are those against UCX, and the bare socket.
func messageFigures(b *bench, s series) {
	latencyTargets := map[messages.Path]target{messages.Shm: atMost("ratio", shmLatencyTarget), messages.UDP: atMost("ratio", udpLatencyTarget)}
	rateTargets := map[messages.Path]target{messages.Shm: atLeast("ratio", shmRateTarget), messages.UDP: atLeast("ratio", udpRateTarget)}
	for _, path := range bothPaths {
		mine := s[path][ours]
		for _, peer := range []string{ucx, "mpich", "openmpi"} {
			theirs, ok := s[path][peer]
			if !ok {
				continue
			}
			against := func(what, unit string, of func(messages.Curve) float64, t target) {
				if peer != ucx {
					t = noTarget()
				}
				b.pair(fmt.Sprintf("channels_%s_%s_vs_%s", path, what, peer), values(mine, of), values(theirs, of), unit, t)
			}
			against("latency_8", "us", latency(8), latencyTargets[path])
			against("rate_8", "M/s", rate, rateTargets[path])
			against("bandwidth_8192", "GB/s", bandwidth(8192), atLeast("ratio", bandwidthTarget))
			against("bandwidth_65536", "GB/s", bandwidth(65536), atLeast("ratio", bandwidthTarget))
		}
		if theirs, ok := s[path][bare]; ok {
			b.pair(
				fmt.Sprintf("channels_%s_latency_8_vs_bare", path),
				values(mine, latency(8)),
				values(theirs, latency(8)),
				"us",
				atMost("ratio", bareLatencyTarget),
			)
		}
	}
}

// writeCurves writes all curves of a group as a table and as a picture.
func writeCurves(dir, group string, s series) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var machine strings.Builder
	describeMachine(&machine)
	var chart messages.Chart
	for _, path := range bothPaths {
		for name, runs := range s[path] {
			chart.Add(path, name, runs)
		}
	}
	fmt.Fprintf(&machine, "# %s, medians; see docs/BENCHMARKS.md, %s\n", time.Now().Format(time.DateOnly), group)
	table, picture := filepath.Join(dir, group+".csv"), filepath.Join(dir, group+".png")
	if err := chart.WriteTable(table, machine.String()); err != nil {
		return err
	}
	if err := chart.WritePicture(picture); err != nil {
		return err
	}
	fmt.Printf("# curves: %s, %s\n", table, picture)
	return nil
}

// otherFigures are those without a peer.
func otherFigures(ctx context.Context, b *bench) error {
	for _, path := range bothPaths {
		var goodput, refused []float64
		for range otherRuns {
			c, err := messages.MeasureIncast(ctx, path)
			if err != nil {
				return err
			}
			goodput, refused = append(goodput, c.Goodput), append(refused, 100*c.Refused)
		}
		b.single(fmt.Sprintf("channels_%s_full_inbox_goodput", path), median(goodput), "of_receiver", atLeast("value", goodputTarget))
		t := atMost("value", refusedTarget)
		if path == messages.Shm {
			t = noTarget() // no frame is refused inside a node: a sender looks whether there is room
		}
		b.single(fmt.Sprintf("channels_%s_full_inbox_refused", path), median(refused), "%", t)
	}
	if err := absentFigures(ctx, b); err != nil {
		return err
	}
	m, err := messages.MeasureMemory()
	if err != nil {
		return err
	}
	b.single("channels_memory_new_peer", m.PeerNew, "B", atMost("value", peerTarget))
	b.single("channels_memory_idle_peer", m.PeerIdle, "B", atMost("value", peerTarget))
	b.single("channels_memory_idle_peer_driver", m.Driver, "B", noTarget())
	b.single("channels_memory_1000_ranks", m.Context/1e6, "MB", atMost("value", contextTarget))
	return nil
}

func absentFigures(ctx context.Context, b *bench) error {
	var middle, late, worst, cpu []float64
	for range otherRuns {
		a, err := messages.MeasureAbsent(ctx)
		if err != nil {
			return err
		}
		n := len(a.Acknowledged)
		middle, late = append(middle, a.Acknowledged[n/2]), append(late, a.Acknowledged[n*99/100])
		worst, cpu = append(worst, a.Acknowledged[n-1]), append(cpu, 100*a.AgentCPU)
	}
	b.single("channels_computing_rank_acknowledged_median", median(middle), "ms", atMost("value", acknowledgeTarget))
	b.single("channels_computing_rank_acknowledged_p99", median(late), "ms", atMost("value", acknowledgeTarget))
	b.single("channels_computing_rank_acknowledged_max", median(worst), "ms", noTarget())
	b.single("channels_computing_rank_agent_cpu", median(cpu), "%", atMost("value", agentTarget))
	return nil
}
