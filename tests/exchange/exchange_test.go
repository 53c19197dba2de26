package exchange

import (
	"errors"
	"score/nodeagent/fence"
	"testing"
	"time"
)

var algorithms = []fence.Algorithm{fence.TreeAlgorithm, fence.RingAlgorithm, fence.BruckAlgorithm, fence.Auto}

// plausible is about what a quiet machine measures.
var plausible = Costs{Way: 100 * time.Microsecond, Message: 30 * time.Microsecond, PerMiB: time.Millisecond}

func sized(bytes int) [][]byte { return [][]byte{make([]byte, bytes)} }

// However messages are lost, repeated and overtaken, whenever nodes come, and whatever their
// number: all get all.
func TestLossyNetworks(t *testing.T) {
	for nodes := 1; nodes <= 70; nodes += 1 + nodes/10 {
		for _, by := range algorithms {
			for _, pieces := range [][][]byte{sized(0), sized(5000), {make([]byte, 10), make([]byte, 90_000), nil}} {
				r, err := Run(Config{
					Nodes: nodes, By: by, Pieces: pieces, Costs: plausible, Spread: 5 * time.Millisecond,
					Lossy: 0.1, Again: 3 * time.Millisecond, Seed: uint64(nodes),
				})
				if err != nil {
					t.Fatalf("%d nodes by %v: %v", nodes, by, err)
				}
				if len(r.Failed) > 0 {
					t.Fatalf("%d nodes by %v: %v", nodes, by, r.Failed)
				}
			}
		}
	}
}

// A node that dies ends the exchange on every other one that has not got everything, with that
// reason, within the time until they know of it.
func TestDeath(t *testing.T) {
	for _, by := range algorithms {
		for _, nodes := range []int{2, 3, 9, 10, 64} {
			for at := time.Millisecond; at < 4*time.Millisecond; at += time.Millisecond {
				r, err := Run(Config{
					Nodes: nodes, By: by, Pieces: sized(10_000), Costs: plausible, Spread: time.Millisecond,
					Dies: nodes / 2, DiesAt: at, Hear: 2 * time.Millisecond, Seed: uint64(nodes),
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Failed) != nodes-1 {
					t.Errorf("%d nodes by %v: %d were told", nodes, by, len(r.Failed))
				}
				for node, reason := range r.Failed {
					if !errors.Is(reason, fence.ErrLost) {
						t.Errorf("%d nodes by %v, node %d: %v", nodes, by, node, reason)
					}
				}
			}
		}
	}
}

// Of hundreds of nodes with large data Bruck's algorithm is faster than the ring by its fewer
// messages, and than the tree by its fewer bytes at the root; and the choice by size is never far
// from the best.
func TestManyNodes(t *testing.T) {
	for _, size := range []int{0, 60, 2000, 20_000} {
		took := make(map[fence.Algorithm]time.Duration)
		for _, by := range algorithms {
			r, err := Run(Config{Nodes: 400, By: by, Pieces: sized(size), Costs: plausible})
			if err != nil {
				t.Fatal(err)
			}
			took[by] = r.Took
		}
		t.Logf("%d B: %v", size, took)
		best := min(took[fence.TreeAlgorithm], took[fence.RingAlgorithm], took[fence.BruckAlgorithm])
		if took[fence.Auto] > best*5/4 {
			t.Errorf("%d B: the choice takes %v, the best %v", size, took[fence.Auto], best)
		}
		if size >= 2000 && took[fence.BruckAlgorithm] >= min(took[fence.TreeAlgorithm], took[fence.RingAlgorithm]) {
			t.Errorf("%d B: Bruck's algorithm is not the fastest: %v", size, took)
		}
	}
}

// Cards like real ones are packed to half of their text and less; random ones are not.
func TestCards(t *testing.T) {
	for _, size := range []int{21, 64, 209, 256, 1024} {
		for _, random := range []bool{false, true} {
			c := Cards{Size: size, PerNode: 64, Random: random, Seed: 1}
			packed, plain := c.Node(3)
			ratio := float64(len(packed)) / float64(plain)
			t.Logf("%d B, random %v: %d bytes became %d: %.2f", size, random, plain, len(packed), ratio)
			if !random && ratio > 0.5 {
				t.Errorf("%d B: %.2f", size, ratio)
			}
		}
	}
}
