package quantile

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestFollowsAQuantile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, odds := range []int{4, 9} {
		rule := Rule{Step: time.Microsecond, Odds: odds, Max: time.Second}
		estimate, longer := time.Duration(0), 0
		const warming, rounds = 1000, 20_000
		for i := range warming + rounds {
			d := time.Duration(random.IntN(1_000_000))
			if d > estimate && i >= warming {
				longer++
			}
			estimate = rule.Next(estimate, d > estimate)
		}
		if got, want := float64(longer)/rounds, 1/float64(odds+1); got < 0.9*want || got > 1.1*want {
			t.Errorf("odds %d: %.3f were longer, want %.3f", odds, got, want)
		}
	}
}

func TestStaysWithinItsBounds(t *testing.T) {
	rule := Rule{Step: 3, Odds: 4, Min: 10, Max: 20}
	if got := rule.Next(19, true); got != 20 {
		t.Errorf("up: %d", got)
	}
	if got := rule.Next(11, false); got != 10 {
		t.Errorf("down: %d", got)
	}
}
