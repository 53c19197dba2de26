package main

import (
	"errors"
	"fmt"
	"score/tests/bench/messages"
)

// combinationPeers are the numbers of peers of the curve.
var combinationPeers = []int{2, 8, 32, 63, 128, 512, 1024, 2048, 4096}

// combinationMessages are enough for all lanes to find those that talk.
const combinationMessages = 400_000

// combinationFigures tell what peers of a node cost a rank, in memory and in time, by lanes of
// their own, by the ring that all share, and by both under the default limit.
func combinationFigures(b *bench) error {
	for _, peers := range combinationPeers {
		for _, how := range messages.Combinations {
			var oneWay, perPeer []float64
			for range b.runs {
				p, err := messages.MeasureCombination(how, peers, combinationMessages)
				if errors.Is(err, messages.ErrPeers) {
					break
				}
				if err != nil {
					return fmt.Errorf("%d peers, %s: %w", peers, how, err)
				}
				oneWay, perPeer = append(oneWay, p.OneWay), append(perPeer, p.PerPeer)
			}
			if len(oneWay) == 0 {
				b.note("%d peers, %s: %v", peers, how, messages.ErrPeers)
				continue
			}
			name := fmt.Sprintf("stack_%s_%d_peers", how, peers)
			b.single(name+"_one_way", median(oneWay)/1e3, "us", noTarget())
			b.single(name+"_memory_per_peer", median(perPeer), "B", noTarget())
		}
	}
	return nil
}
