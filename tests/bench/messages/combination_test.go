package messages

import (
	"errors"
	"score/channels/abi"
	"testing"
)

// Each way takes all messages; the memory of lanes is bounded where it is shared out.
func TestCombinations(t *testing.T) {
	for _, peers := range []int{2, 100, abi.MaxLocal + 1} {
		for _, how := range Combinations {
			p, err := MeasureCombination(how, peers, 20_000)
			if how == Exclusive && peers >= abi.MaxLanes {
				if !errors.Is(err, ErrPeers) {
					t.Errorf("%d peers, %s: %v", peers, how, err)
				}
				continue
			}
			if err != nil || p.OneWay <= 0 || p.PerPeer <= 0 {
				t.Errorf("%d peers, %s: %+v, %v", peers, how, p, err)
			}
			t.Logf("%d peers, %s: %+v", peers, how, p)
		}
	}
}
