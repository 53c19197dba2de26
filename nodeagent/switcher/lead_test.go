package switcher

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLeadLearnsHowLateWakeUpsAre(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l lead
	late := func() time.Duration { return 20*time.Microsecond + time.Duration(random.IntN(20_000)) }
	for range 1000 {
		l.woke(late())
	}
	inTime := 0
	const rounds = 10_000
	for range rounds {
		d := late()
		if d <= l.Duration {
			inTime++
		}
		l.woke(d)
	}
	if share := float64(inTime) / rounds; share < 0.75 || share > 0.85 {
		t.Errorf("%.0f %% of the wake-ups were in time, with a lead of %v", 100*share, l.Duration)
	}
}

func TestLeadRecovers(t *testing.T) {
	var l lead
	for range 100 {
		l.woke(time.Second)
	}
	if l.Duration != maxLead {
		t.Errorf("lead %v", l.Duration)
	}
	for range 200 {
		l.woke(0)
	}
	if l.Duration != 0 {
		t.Errorf("lead %v", l.Duration)
	}
}

func TestNobodyLosesMoreThanHalfAPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lead
		for _, late := range rapid.SliceOf(rapid.Int64()).Draw(t, "late") {
			l.woke(time.Duration(late))
		}
		now := rapid.Int64Range(0, 1<<60).Draw(t, "now")
		sleep := rapid.Int64Range(-int64(time.Second), int64(time.Hour)).Draw(t, "sleep")
		early := now + sleep - l.before(now, now+sleep)
		if early < 0 || early > maxLead.Nanoseconds() || early > max(0, sleep/leadPart) {
			t.Fatalf("%d early after a sleep of %d", early, sleep)
		}
	})
}
