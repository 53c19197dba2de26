package flowctl

import (
	"math/rand/v2"
	"testing"
)

// TestLossyPace sends frames one by one, each when the last is acknowledged, over a network that
// loses, holds back and doubles half of what is sent. A frame must not cost many times what luck
// alone makes it cost.
func TestLossyPace(t *testing.T) {
	const frames = 3000
	for _, tt := range []struct {
		name               string
		loss, dup, reorder float64
		maxMean            int64 // ns for a frame, in the mean
	}{
		{name: "faultless", maxMean: 250 * microsecond},
		{name: "reordering", reorder: 0.5, maxMean: 5 * 250 * microsecond},
		{name: "loss", loss: 0.5, maxMean: 60_000 * microsecond},
		{name: "all", loss: 0.5, dup: 0.5, reorder: 0.5, maxMean: 60_000 * microsecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLossy(t, tt.loss, tt.dup, tt.reorder)
			for range frames {
				l.s.Queue(1)
				l.runUntil(l.s.End())
			}
			pace := (l.now - epoch) / frames
			t.Logf("%d us for a frame", pace/microsecond)
			if pace > tt.maxMean {
				t.Errorf("a frame takes %d us, want at most %d", pace/microsecond, tt.maxMean/microsecond)
			}
		})
	}
}

func newLossy(t *testing.T, loss, dup, reorder float64) *lossy {
	const (
		oneWay = 10 * microsecond
		stray  = 5 * microsecond
	)
	dice := rand.New(rand.NewPCG(1, 0))
	return &lossy{pair: newPair(t, 0), carry: func(deliver func(at int64), now int64) {
		if dice.Float64() < loss {
			return
		}
		for copies := 0; copies == 0 || copies == 1 && dice.Float64() < dup; copies++ {
			at := now + oneWay
			if dice.Float64() < reorder {
				at += stray
			}
			deliver(at)
		}
	}}
}

// lossy is a pair on a network; carry decides what becomes of a datagram.
type lossy struct {
	*pair
	carry func(deliver func(at int64), now int64)
	wire  []arrival
}

// arrival is a frame, or an answer, and when it comes.
type arrival struct {
	at     int64
	frame  Data
	answer *Answer
}

// runUntil goes on until all frames before end are acknowledged.
func (l *lossy) runUntil(end Seq) {
	for after(end, l.s.Acked()) {
		for _, d := range l.send() {
			l.carry(func(at int64) { l.wire = append(l.wire, arrival{at: at, frame: d}) }, l.now)
		}
		if a, due := l.answer(); due {
			l.carry(func(at int64) { l.wire = append(l.wire, arrival{at: at, answer: &a}) }, l.now)
		}
		l.step()
	}
}

// step goes on to the next arrival or deadline.
func (l *lossy) step() {
	first := -1
	for i := range l.wire {
		if first < 0 || l.wire[i].at < l.wire[first].at {
			first = i
		}
	}
	if first < 0 || min(l.s.Deadline(), l.r.Deadline()) < l.wire[first].at {
		l.tick()
		return
	}
	a := l.wire[first]
	l.wire = append(l.wire[:first], l.wire[first+1:]...)
	l.now = max(l.now, a.at)
	if a.answer != nil {
		l.take(*a.answer)
		return
	}
	l.deliver(a.frame)
}
