package rpc

import (
	"score/scored/leader"
	"testing"
	"time"
)

// burster is a user's stream on a host of two CPUs, in virtual time.
type burster struct {
	*flows
	uid    uint32
	stream *outputProgress
}

// pass has bytes pass, and reports whether the next may come at once.
func (b *burster) pass(bytes int, now time.Time) (more bool) {
	return b.rate([]leader.Host{{Name: "a", CPUs: 2}}, b.uid, b.stream, bytes, now) == 0
}

// passAll has bytes pass as long as they may come at once, and returns how many did.
func (b *burster) passAll(now time.Time) (passed int) {
	const step = 1 << 20
	for passed < 1<<30 {
		passed += step
		if !b.pass(step, now) {
			break
		}
	}
	return passed
}

const whole = 2 * carriedPerCPU * int(burstTime/time.Second)

// What a user has saved up comes at once, then comes the pace. A stream at its pace saves nothing
// up, and a silent one does.
func TestBurst(t *testing.T) {
	now := time.Unix(1, 0)
	b := &burster{newFlows(), 1000, newPacedPlace()}
	if got := b.passAll(now); got != whole {
		t.Errorf("%d bytes came at once, want %d", got, whole)
	}
	for range 1200 {
		now = now.Add(100 * time.Millisecond)
		if b.pass(2*carriedPerCPU/10, now) {
			t.Fatal("a stream at its pace may come at once again")
		}
	}
	if now = now.Add(burstTime / 3); b.pass(0, now) {
		t.Error("a third of the allowance is too little to begin with")
	}
	now = now.Add(burstTime)
	if got := b.passAll(now); got != whole {
		t.Errorf("after a pause %d bytes came at once, want %d", got, whole)
	}
}

// Each user has an allowance, but many together take no more than maxBursts of them in burstTime.
func TestBurstsOfManyUsers(t *testing.T) {
	now, f := time.Unix(1, 0), newFlows()
	total := 0
	for uid := range uint32(20) {
		b := &burster{f, uid, newPacedPlace()}
		if b.pass(0, now) {
			total += b.passAll(now)
		}
	}
	if total != maxBursts*whole {
		t.Errorf("%d bytes came at once, want %d", total, maxBursts*whole)
	}
	if n := len(f.bursts["a"].users); n != 20 {
		t.Errorf("%d users are known", n)
	}
	late := &burster{f, 100, newPacedPlace()}
	if now = now.Add(2 * burstTime); !late.pass(1, now) {
		t.Error("a user who comes later has no allowance")
	}
	if n := len(f.bursts["a"].users); n != 1 {
		t.Errorf("%d users are known after all were silent", n)
	}
}
