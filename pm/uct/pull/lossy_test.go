package pull

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// network is a reader and an owner with a network between them, in virtual time: frames have a
// length in time and a delay, and some are lost. Questions, probes and words arrive.
type network struct {
	*Reader
	now, delay int64
	free       int64 // when the owner's link has nothing to send
	loss       float64
	random     *rand.Rand
	pull       *Pull
	events     []event // to come, by at
}

// event is that a frame, or the answer to a probe, comes.
type event struct {
	at      int64
	from, n uint64
	word    bool
}

const (
	// longestFrame is what the loopback device takes, and linkBytes the bytes that a link of 10
	// GB/s carries in a nanosecond.
	longestFrame = 65_424
	linkBytes    = 10
)

// ask asks the owner for what the reader wants; it sends, and answers probes, at once, in order.
func (w *network) ask() {
	for _, at, n, ok := w.Probe(); ok; _, at, n, ok = w.Probe() {
		w.Probed()
		w.free = max(w.free, w.now+w.delay)
		w.events = append(w.events, event{at: w.free + w.delay, from: at, n: n, word: true})
	}
	for _, at, n, ok := w.Next(); ok; _, at, n, ok = w.Next() {
		w.Asked(w.now)
		w.free = max(w.free, w.now+w.delay)
		o, _ := Serve(w.pull.length, at, n)
		for from, size, more := o.Next(longestFrame); more; from, size, more = o.Next(longestFrame) {
			w.free += int64(size) / linkBytes
			if w.random.Float64() >= w.loss {
				w.events = append(w.events, event{at: w.free + w.delay, from: from, n: size})
			}
			o.Passed(size)
		}
	}
}

// step has the next thing happen.
func (w *network) step() {
	w.ask()
	if len(w.events) == 0 || w.events[0].at > w.Deadline() {
		w.now = max(w.now, w.Deadline())
		w.Tick(w.now)
		return
	}
	e := w.events[0]
	w.events = w.events[1:]
	w.now = e.at
	if !e.word {
		if w.pull.Expects(e.from, e.n) {
			w.Took(w.now, w.pull, e.from, e.n)
		}
		return
	}
	w.Sent(w.now, w.pull, e.from, e.n)
}

// BenchmarkLossy is transfers of 4 MiB, one after the other, from another host. The time of one is
// virtual, so it is the same on each machine.
func BenchmarkLossy(b *testing.B) {
	const length, transfers = 4 << 20, 2000
	for _, loss := range []float64{0, 0.001, 0.01} {
		b.Run(fmt.Sprintf("%g%%", 100*loss), func(b *testing.B) {
			for b.Loop() {
				w := &network{Reader: New(ConfigFor(4 << 20)), delay: 20_000, loss: loss, random: rand.New(rand.NewPCG(1, 2))}
				sum := 0
				for range transfers {
					w.pull = w.Start(0, length)
					for !w.pull.Settled() {
						w.step()
					}
					w.Recycle(w.pull)
					sum += w.window
				}
				b.ReportMetric(float64(w.now)/transfers/1000, "virtual-us/op")
				b.ReportMetric(float64(sum)/transfers/1024, "window-KiB")
			}
		})
	}
}
