package uplink

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// firstPause is about the time of a server's orderly restart. maxPause is long enough that
	// attempts cost little, and short enough that a server's return is noticed soon.
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second

	// quickPings is the number of pings at the begin of a stream that come close together, so that
	// the clock is known to tens of microseconds before the first job needs it.
	quickPings     = 5
	quickPingEvery = 10 * time.Millisecond
	// pingEvery bounds the drift of crystal clocks between samples: 100 ppm make 50 us.
	pingEvery = 500 * time.Millisecond
)

// backoff is the series of pauses between attempts: doubling, bounded, and randomized by half, so
// that the nodes do not come all at once.
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

// heartbeat is the timer of pings.
type heartbeat struct {
	timer    *time.Timer
	sequence uint64
}

// newHeartbeat returns a heartbeat whose first ping is due at once.
func newHeartbeat() *heartbeat {
	return &heartbeat{timer: time.NewTimer(0)}
}

func (h *heartbeat) C() <-chan time.Time { return h.timer.C }

// next returns the number of the due ping, and sets the timer for the next one.
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
