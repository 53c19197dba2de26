package main

import (
	"context"
	"fmt"
	"score/tests/bench/messages"
	"slices"
)

// Layers as contestants.
const (
	layerPM      = "pm"
	layerUCT     = "uct"
	layerShared  = "uct, shared ring"
	layerTag     = "tag"
	layerWindows = "tag, windows"
	layerOFI     = "ofi"
)

// stackLayers are all layers, and those that take messages of any length.
func stackLayers() (all, above []contestant) {
	layer := func(name string, l messages.Layer) contestant {
		return contestant{name, bothPaths, func(ctx context.Context, path messages.Path, p messages.Plan) (messages.Curve, error) {
			return messages.OfLayer(ctx, path, p, l)
		}}
	}
	const lanes, none = -1, 0
	tag := layer(layerTag, messages.Layer{Name: messages.LayerTag, LaneBytes: lanes})
	ofi := layer(layerOFI, messages.Layer{Name: messages.LayerOFI, LaneBytes: lanes})
	windows := layer(layerWindows, messages.Layer{Name: messages.LayerTag, Windows: true, LaneBytes: lanes})
	windows.paths = []messages.Path{messages.Shm}
	return []contestant{
		layer(layerPM, messages.Layer{Name: messages.LayerPM, LaneBytes: lanes}),
		layer(layerUCT, messages.Layer{Name: messages.LayerUCT, LaneBytes: lanes}),
		layer(layerShared, messages.Layer{Name: messages.LayerUCT, LaneBytes: none}),
		tag, ofi,
	}, []contestant{tag, windows, ofi}
}

// stackPeers are those that are installed.
func stackPeers(ctx context.Context, b *bench) (all []contestant, err error) {
	peer := messages.UCX{Dir: b.work, Copy: true}
	if packages := peer.Missing(); packages == "" {
		all = append(all, contestant{ucx, bothPaths, peer.Measure})
	} else {
		skip(ucx, packages)
	}
	mpis, err := installedMPIs(ctx, b)
	return append(all, mpis...), err
}

// installedMPIs are the MPI libraries that are installed, with the program that measures them.
func installedMPIs(ctx context.Context, b *bench) (all []contestant, err error) {
	for _, mpi := range []*messages.MPI{messages.MPICH(), messages.OpenMPI()} {
		if packages := mpi.Missing(); packages != "" {
			skip(mpi.Name, packages)
			continue
		}
		if err := mpi.Build(ctx, b.work); err != nil {
			return nil, err
		}
		all = append(all, contestant{mpi.Name, bothPaths, mpi.Measure})
	}
	return all, nil
}

// runsOf has the runs of each contestant.
type runsOf map[string][]messages.Curve

// stackRuns lets the contestants measure in turns, there and back. A peer that fails is left out.
func stackRuns(ctx context.Context, path messages.Path, all []contestant, sizes []int, runs, pieces int) (runsOf, error) {
	got := runsOf{}
	plan := messages.NewPieces(path, sizes, pieces)
	failed := map[string]bool{}
	for run := range runs {
		for i := range all {
			c := all[i]
			if run%2 == 1 {
				c = all[len(all)-1-i]
			}
			if !hasPath(c, path) || failed[c.name] {
				continue
			}
			curve, err := c.measure(ctx, path, plan)
			switch {
			case err == nil:
				got[c.name] = append(got[c.name], curve)
			case ctx.Err() == nil && isPeer(c.name):
				failed[c.name] = true
				delete(got, c.name)
				fmt.Printf("# left out: %s by %s: %v\n", c.name, path, err)
			default:
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return got, nil
}

var peerNames = []string{ucx, "mpich", "openmpi"}

func isPeer(name string) bool { return slices.Contains(peerNames, name) }

// named are the microseconds of a name in each run.
func named(runs []map[string]float64, name string) (xs []float64) {
	for _, r := range runs {
		xs = append(xs, r[name]/1e3)
	}
	return xs
}
