package udp

import (
	"math"
	"net/netip"
	"runtime"
	"score/channels/link"
	"score/flowctl"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pinned runs f on a thread of its own, on the processor with the number if there is one.
func pinned(cpu int, f func()) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	var set unix.CPUSet
	set.Set(cpu % runtime.NumCPU())
	_ = unix.SchedSetaffinity(0, &set)
	f()
}

// pair runs there beside the benchmark, until the benchmark ends, and here as the benchmark; each
// pinned.
func pair(b *testing.B, here func(), there func(stop *atomic.Bool)) {
	b.Helper()
	var stop atomic.Bool
	done := make(chan struct{}, 2)
	go pinned(1, func() { defer signal(done); there(&stop) })
	go pinned(0, func() { defer signal(done); here(); stop.Store(true) })
	<-done
	<-done
}

func signal(done chan<- struct{}) { done <- struct{}{} }

// BenchmarkPingPong is half a round trip of 8 bytes.
func BenchmarkPingPong(b *testing.B) {
	b.Run("bare", func(b *testing.B) { bareRounds(b) })
	b.Run("port", func(b *testing.B) { portRounds(b, false) })
	b.Run("port+codec", func(b *testing.B) { portRounds(b, true) })
}

// rounds times round trips, and reports besides the mean half of the best of short batches: what a
// quiet machine does.
func rounds(b *testing.B, round func()) {
	const batch = 32
	best := time.Duration(math.MaxInt64)
	b.ResetTimer()
	for done := 0; done < b.N; done += batch {
		start := time.Now()
		for range min(batch, b.N-done) {
			round()
		}
		if b.N-done >= batch {
			best = min(best, time.Since(start))
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(best.Nanoseconds())/(2*batch), "best-ns/way")
}

func bareRounds(b *testing.B) {
	open := func() (*bare, link.Address) {
		file, at, err := Listen(netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { file.Close() })
		fd, err := descriptor(file)
		if err != nil {
			b.Fatal(err)
		}
		return &bare{fd: fd}, link.AddressOf(at)
	}
	x, xAt := open()
	y, yAt := open()
	pair(b, func() {
		data, room := make([]byte, 64), make([]byte, 2048)
		rounds(b, func() {
			x.send(data, &yAt)
			for x.receive(room) == 0 {
			}
		})
	}, func(stop *atomic.Bool) {
		room := make([]byte, 2048)
		for !stop.Load() {
			if n := y.receive(room); n > 0 {
				y.send(room[:n], &xAt)
			}
		}
	})
}

func portRounds(b *testing.B, codec bool) {
	x, y := newPort(b, "127.0.0.1"), newPort(b, "127.0.0.1")
	send := func(p *Port, to link.Address, w *link.Writer, h *link.Head, data []byte) {
		n := 64
		if codec {
			w.Begin(p.Buffer(), p.Size(to), h)
			w.Add(len(data), true, data)
			n = w.Finish(flowctl.MarkAsk)
		} else {
			p.Buffer()
		}
		p.Queue(to, n)
		p.Flush()
	}
	var seen atomic.Uint64 // so that nothing is optimized away
	taker := func() func(link.Address, []byte) {
		return func(_ link.Address, data []byte) {
			if !codec {
				return
			}
			_, frames, err := link.Parse(data)
			if err != nil {
				b.Error(err)
				return
			}
			for f, ok := frames.Next(); ok; f, ok = frames.Next() {
				if len(f.Data) != 8 {
					seen.Add(1)
				}
			}
		}
	}
	pair(b, func() {
		var w link.Writer
		h, data, take := link.Head{Kind: link.Data, Job: 1}, make([]byte, 8), taker()
		rounds(b, func() {
			h.Data.Seq++
			send(x, y.Local(), &w, &h, data)
			for x.Receive(take) == 0 {
			}
		})
	}, func(stop *atomic.Bool) {
		var w link.Writer
		h, data, take := link.Head{Kind: link.Data, Job: 1}, make([]byte, 8), taker()
		for !stop.Load() {
			if y.Receive(take) > 0 {
				send(y, x.Local(), &w, &h, data)
			}
		}
	})
}

// BenchmarkFlood is datagrams one way, as many as there may be without loss: no more than the
// window under way.
func BenchmarkFlood(b *testing.B) {
	for _, c := range []struct {
		name   string
		size   int
		window uint64
	}{{"64B", 64, 256}, {"1400B", 1400, 256}, {"32KiB", 32 << 10, 24}, {"64KiB", link.MaxDatagram, 12}} {
		for _, offload := range []bool{false, true} {
			b.Run(c.name+map[bool]string{false: "/one-by-one", true: "/offload"}[offload], func(b *testing.B) {
				flood(b, c.size, c.window, offload)
			})
		}
	}
}

func flood(b *testing.B, size int, window uint64, offload bool) {
	x, y := newPort(b, "127.0.0.1"), newPort(b, "127.0.0.1")
	if !offload {
		withoutOffload(b, x, y)
	}
	if queue, err := unix.GetsockoptInt(y.fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil {
		window = max(2, min(window, uint64(queue/(2*size+2048)))&^1) // the kernel counts its own memory, too
	}
	const batches = 4 // windows in a batch that is timed: little enough to be done in one slice of a busy system
	var arrived atomic.Uint64
	best := time.Duration(math.MaxInt64)
	pair(b, func() {
		b.ResetTimer()
		start, sent := time.Now(), uint64(0)
		for range b.N {
			for range window / 2 {
				x.Buffer()
				x.Queue(y.Local(), size)
			}
			x.Flush()
			sent += window / 2
			for sent-arrived.Load() > window/2 {
			}
			if sent%(batches*window/2) == 0 {
				now := time.Now()
				best, start = min(best, now.Sub(start)), now
			}
		}
		b.StopTimer()
	}, func(stop *atomic.Bool) {
		take := func(link.Address, []byte) {}
		for !stop.Load() {
			if n := y.Receive(take); n > 0 {
				arrived.Add(uint64(n))
			}
		}
	})
	rate := float64(batches*window/2) / best.Seconds()
	b.ReportMetric(rate/1e6, "best-M/s")
	b.ReportMetric(rate*float64(size)/1e9, "best-GB/s")
	if d := y.Stats().Overflowed; d > 0 {
		b.Errorf("%d datagrams found the queue full", d)
	}
}
