package main

import (
	"context"
	"fmt"
	"math"
	"score/tests/bench/messages"
)

// What a layer of the messaging stack may cost more than the one below, in microseconds.
const (
	uctTarget = 0.025
	tagTarget = 0.040
	ofiTarget = 0.020
)

// What messages and operations of the stack may cost, relative to the peer that is named.
const (
	ofiLatencyTarget    = 0.9 // of UCX
	tagRateTarget       = 1.5 // times UCX
	longTarget          = 1.0 // times the best of UCX, MPICH and Open MPI
	windowTarget        = 1.3 // the same, from and to windows
	remoteWindowTarget  = 0.05
	remoteOtherTarget   = 1.2 // of UCX
	matchTarget         = 1.3 // of the time with one tag
	stackPeerTarget     = 128.0
	stackPeerOnceTarget = 1024.0
)

const (
	// stackPieces is how often a size of a target is measured in a run; the least counts.
	stackPieces = 10
	// curvePieces is the same for the curves, and curveRuns are their runs.
	curvePieces = 3
	curveRuns   = 3
	// memoryRuns is the number of runs: a warm-up and those of the median.
	memoryRuns = 4
)

// longSizes are the sizes of the targets for long messages.
var longSizes = []int{64 << 10, 1 << 20, 4 << 20}

// stackGroup measures the layers of the messaging stack beside each other and their peers.
func stackGroup(ctx context.Context, b *bench) error {
	layers, above := stackLayers()
	peers, err := stackPeers(ctx, b)
	if err != nil {
		return err
	}
	short, err := stackRuns(ctx, messages.Shm, append(layers, peers...), []int{8}, b.runs, stackPieces)
	if err != nil {
		return err
	}
	layerFigures(b, short)
	for _, path := range bothPaths {
		long, err := stackRuns(ctx, path, append(above, peers...), append([]int{8}, longSizes...), b.runs, stackPieces)
		if err != nil {
			return err
		}
		longFigures(b, path, long)
	}
	if err := remoteFigures(ctx, b); err != nil {
		return err
	}
	if err := matchFigures(ctx, b); err != nil {
		return err
	}
	if err := stackMemoryFigures(b); err != nil {
		return err
	}
	if err := combinationFigures(b); err != nil {
		return err
	}
	return stackCurves(ctx, b, append(above, peers...))
}

// layerFigures is the table of the layers: the time of a message, and what it is more than the
// layer below takes.
func layerFigures(b *bench, s runsOf) {
	of := func(name string) []float64 { return values(s[name], latency(8)) }
	b.single("stack_layer_pm_8", median(of(layerPM)), "us", noTarget())
	for _, l := range []struct {
		name, layer, below string
		target             target
	}{
		{"uct_er", layerUCT, layerPM, atMost("diff", uctTarget)},
		{"uct_sr", layerShared, layerPM, noTarget()},
		{"tag", layerTag, layerUCT, atMost("diff", tagTarget)},
		{"ofi", layerOFI, layerTag, atMost("diff", ofiTarget)},
	} {
		b.pair(fmt.Sprintf("stack_layer_%s_8_vs_%s", l.name, l.below), of(l.layer), of(l.below), "us", l.target)
	}
	for _, name := range []string{layerPM, layerUCT, layerShared} {
		b.single("stack_layer_"+figureName(name)+"_rate_8", median(values(s[name], rate)), "M/s", noTarget())
	}
	for _, peer := range peerNames {
		theirs := s[peer]
		if len(theirs) == 0 {
			continue
		}
		latencyTarget, rateTarget := noTarget(), noTarget()
		if peer == ucx {
			latencyTarget, rateTarget = atMost("ratio", ofiLatencyTarget), atLeast("ratio", tagRateTarget)
		}
		b.pairWithSpread("stack_ofi_latency_8_vs_"+peer, of(layerOFI), values(theirs, latency(8)), "us", latencyTarget)
		b.pairWithSpread("stack_tag_rate_8_vs_"+peer, values(s[layerTag], rate), values(theirs, rate), "M/s", rateTarget)
		b.pair("stack_ofi_rate_8_vs_"+peer, values(s[layerOFI], rate), values(theirs, rate), "M/s", noTarget())
	}
}

func figureName(layer string) string {
	return map[string]string{layerPM: "pm", layerUCT: "uct_er", layerShared: "uct_sr", layerTag: "tag", layerWindows: "windows", layerOFI: "ofi"}[layer]
}

// longFigures compares long messages with the best of the peers, run by run.
func longFigures(b *bench, path messages.Path, s runsOf) {
	for _, size := range longSizes {
		label := fmt.Sprint(size>>10) + "k"
		for _, name := range []string{layerTag, layerOFI, layerWindows} {
			mine := s[name]
			if len(mine) == 0 {
				continue
			}
			minRatio := longTarget
			if name == layerWindows {
				minRatio = windowTarget
			}
			prefix := fmt.Sprintf("stack_%s_%s", path, figureName(name))
			against(b, prefix+"_bandwidth_"+label, values(mine, bandwidth(size)), best(s, bandwidth(size), math.Max), "GB/s", atLeast("ratio", minRatio))
			against(b, prefix+"_latency_"+label, values(mine, latency(size)), best(s, latency(size), math.Min), "us", atMost("ratio", 1/minRatio))
		}
	}
	if path != messages.UDP {
		return
	}
	against(b, "stack_udp_tag_latency_8", values(s[layerTag], latency(8)), best(s, latency(8), math.Min), "us", atMost("ratio", 1))
	against(b, "stack_udp_tag_rate_8", values(s[layerTag], rate), best(s, rate, math.Max), "M/s", atLeast("ratio", 1))
}

// against reports a pair, or without peers the value alone.
func against(b *bench, name string, ours, peers []float64, unit string, t target) {
	if len(peers) == 0 {
		b.single(name, median(ours), unit, noTarget())
		return
	}
	b.pair(name+"_vs_best", ours, peers, unit, t)
}

// best is, run by run, the best of the peers.
func best(s runsOf, of func(messages.Curve) float64, better func(a, b float64) float64) (xs []float64) {
	for _, peer := range peerNames {
		for i, x := range values(s[peer], of) {
			if i == len(xs) {
				xs = append(xs, x)
			}
			xs[i] = better(xs[i], x)
		}
	}
	return xs
}

// remoteFigures prints the figures of put, get and fetch-and-add of 8 bytes inside a node.
func remoteFigures(ctx context.Context, b *bench) error {
	peer := messages.UCX{Dir: b.work}
	var ours, theirs []map[string]float64
	for range b.runs {
		mine, err := messages.Remote(ctx)
		if err != nil {
			return err
		}
		ours = append(ours, mine)
		if peer.Missing() != "" {
			continue
		}
		other, err := peer.Remote(ctx)
		if err != nil {
			return err
		}
		theirs = append(theirs, other)
	}
	for _, op := range []string{messages.OpPut, messages.OpGet, messages.OpFetchAdd, messages.OpPingPong} {
		for _, memory := range []string{messages.WindowMemory, messages.OtherMemory} {
			t := atMost("value", remoteWindowTarget)
			switch {
			case memory == messages.OtherMemory && len(theirs) > 0:
				t = atMost("ratio", remoteOtherTarget)
			case memory == messages.OtherMemory || op == messages.OpPingPong:
				t = noTarget()
			}
			name := "stack_remote_" + op + memory
			if mine := named(ours, op+memory); len(theirs) == 0 {
				b.single(name, median(mine), "us", t)
			} else {
				b.pair(name+"_vs_ucx", mine, named(theirs, op+memory), "us", t)
			}
		}
	}
	return nil
}

func matchFigures(ctx context.Context, b *bench) error {
	var all []map[string]float64
	for range b.runs {
		times, err := messages.Matching(ctx)
		if err != nil {
			return err
		}
		all = append(all, times)
	}
	b.pairWithSpread("stack_match_200_mixed_vs_one", named(all, messages.MatchMixed), named(all, messages.MatchOne), "us", atMost("ratio", matchTarget))
	return nil
}

func stackMemoryFigures(b *bench) error {
	var fresh, once, lane []float64
	var limit float64
	for run := range memoryRuns {
		m, err := messages.MeasureStackMemory()
		if err != nil {
			return err
		}
		if limit = m.Limit; run > 0 {
			fresh, once, lane = append(fresh, m.PeerNew), append(once, m.PeerOnce), append(lane, m.Lane)
		}
	}
	b.single("stack_memory_peer_new", median(fresh), "B", atMost("value", stackPeerTarget))
	b.single("stack_memory_peer_once", median(once), "B", atMost("value", stackPeerOnceTarget))
	b.single("stack_memory_lane", median(lane), "B", atMost("value", limit))
	return nil
}

// stackCurves writes the curves of all sizes.
func stackCurves(ctx context.Context, b *bench, all []contestant) error {
	s := series{}
	for _, path := range bothPaths {
		runs, err := stackRuns(ctx, path, all, messages.LongSizes, curveRuns, curvePieces)
		if err != nil {
			return err
		}
		s[path] = runs
	}
	return writeCurves(b.out, "stack", s)
}
