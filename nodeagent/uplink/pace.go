package uplink

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// firstPause is about what a server needs to come back after an orderly
	// restart; maxPause keeps an absent server cheap and its return noticed.
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second

	// quickPings come close together, so that the clock is known to tens of
	// microseconds before the first job needs it.
	quickPings     = 5
	quickPingEvery = 10 * time.Millisecond
	// pingEvery bounds how far crystal clocks drift apart between samples:
	// 100 ppm make 50 us.
	pingEvery = 500 * time.Millisecond
)

// backoff is the series of pauses between attempts: doubling, bounded, and
// spread over half of each, so that the nodes do not come all at once.
type backoff struct {
	last time.Duration
}

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, firstPause), maxPause)
	return b.last/2 + rand.N(b.last/2)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// heartbeat tells when the next ping is due.
type heartbeat struct {
	timer    *time.Timer
	sequence uint64
}

// newHeartbeat is due at once.
func newHeartbeat() *heartbeat {
	return &heartbeat{timer: time.NewTimer(0)}
}

func (h *heartbeat) C() <-chan time.Time { return h.timer.C }

// next numbers the ping that is due and sets the timer for the one after.
func (h *heartbeat) next() uint64 {
	h.sequence++
	if h.sequence < quickPings {
		h.timer.Reset(quickPingEvery)
	} else {
		h.timer.Reset(pingEvery)
	}
	return h.sequence
}

func (h *heartbeat) stop() { h.timer.Stop() }
