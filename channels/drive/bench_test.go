package drive

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/channels/link/udp"
	"score/channels/rankmap"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// end is one of two contexts that know each other's sockets.
type end struct {
	img *channels.Image
	in  *channels.Inbox
	*Driver
}

func ends(b *testing.B) [2]*end {
	b.Helper()
	var ports [2]link.Port
	var at [2]link.Address
	for i := range ports {
		file, local, err := udp.Listen(netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			b.Fatal(err)
		}
		if ports[i], err = udp.New(file); err != nil {
			b.Fatal(err)
		}
		at[i] = link.AddressOf(local)
	}
	return endsAt(b, ports, at, at)
}

// namedEnds are ends that are linked by TIPC.
func namedEnds(b *testing.B) [2]*end {
	b.Helper()
	if err := tipc.Check(); err != nil {
		b.Skip(err, "(tests/tipc runs this in a guest)")
	}
	names := link.NamesOf(tipc.DefaultType, testKey, 2, 2)
	var ports [2]link.Port
	var at, directories [2]link.Address
	for i := range ports {
		file, err := tipc.Listen(link.Address{})
		if err != nil {
			b.Fatal(err)
		}
		if ports[i], err = tipc.New(file); err != nil {
			b.Fatal(err)
		}
		at[i], directories[i] = ports[i].Local(), names.Directory(uint32(i))
	}
	return endsAt(b, ports, at, directories)
}

func endsAt(b *testing.B, ports [2]link.Port, at, directories [2]link.Address) [2]*end {
	b.Helper()
	var pair [2]*end
	for i := range pair {
		where, err := rankmap.New(uint32(i), directories[:], []uint32{0, 1})
		if err != nil {
			b.Fatal(err)
		}
		img, err := channels.Create(channels.Identity{Job: testKey, Rank: uint32(i), Channel: 1}, abi.Geometry{Ranks: 2, LocalRanks: 1}, []uint32{uint32(i)})
		if err != nil {
			b.Fatal(err)
		}
		me, _ := channels.Self()
		img.SetOwner(abi.RoleProcess, me)
		in, err := img.Inbox(nil)
		if err != nil {
			b.Fatal(err)
		}
		d, err := New(img, ports[i], where, abi.RoleProcess)
		if err != nil {
			b.Fatal(err)
		}
		d.peer(uint32(1 - i)).address = at[1-i]
		pair[i] = &end{img, in, d}
		b.Cleanup(func() { _ = d.Close(); img.Close() })
	}
	return pair
}

func (e *end) put(b *testing.B, to uint32, data []byte) {
	for {
		e.Enter()
		now := channels.Nanos()
		err := e.Send(to, data, true, now)
		if errors.Is(err, channels.ErrFull) {
			e.Drive(now)
		}
		e.Leave()
		if err == nil {
			return
		}
		if !errors.Is(err, channels.ErrFull) {
			b.Error(err)
			return
		}
	}
}

// take waits for a message and gives it back; false once done.
func (e *end) take(done *atomic.Bool) bool {
	for {
		m, ok := e.in.Poll()
		for ok {
			if m.Available() == m.Len() {
				_ = e.in.Release(m)
				return true
			}
			e.Enter()
			e.Poll(1)
			e.Leave()
		}
		if done.Load() {
			return false
		}
		e.Enter()
		e.Poll(1)
		e.Leave()
	}
}

// look drives once.
func (e *end) look() {
	e.Enter()
	e.Poll(1)
	e.Leave()
}

// pass drives both ends until the message is there, and gives it back.
func pass(pair [2]*end) {
	for {
		m, ok := pair[1].in.Poll()
		for ok && m.Available() < m.Len() {
			pair[0].look()
			pair[1].look()
		}
		if ok {
			_ = pair[1].in.Release(m)
			return
		}
		pair[0].look()
		pair[1].look()
	}
}

func benchmarkPingPong(b *testing.B, size int) {
	pair := ends(b)
	data := make([]byte, size)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		for pair[1].take(&done) {
			pair[1].put(b, 0, data)
		}
	})
	runtime.LockOSThread()
	b.ReportAllocs()
	const batch = 32
	best, start, rounds := time.Duration(math.MaxInt64), time.Now(), 0
	for b.Loop() {
		pair[0].put(b, 1, data)
		pair[0].take(&done)
		if rounds++; rounds%batch == 0 {
			now := time.Now()
			best, start = min(best, now.Sub(start)), now
		}
	}
	b.ReportMetric(float64(best.Nanoseconds())/(2*batch), "best-ns/way") // what a quiet machine does
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/way")
	done.Store(true)
	wg.Wait()
}

func BenchmarkPingPong8(b *testing.B)     { benchmarkPingPong(b, 8) }
func BenchmarkPingPong60000(b *testing.B) { benchmarkPingPong(b, 60_000) }
func BenchmarkPingPong64Ki(b *testing.B)  { benchmarkPingPong(b, 64<<10) }

func benchmarkStream(b *testing.B, size int) {
	pair := ends(b)
	data := make([]byte, size)
	var done atomic.Bool
	var got atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		for pair[1].take(&done) {
			got.Add(1)
		}
	})
	runtime.LockOSThread()
	b.ReportAllocs()
	b.SetBytes(int64(size))
	sent := int64(0)
	for b.Loop() {
		pair[0].put(b, 1, data)
		sent++
	}
	for got.Load() < sent {
		pair[0].Enter()
		pair[0].Drive(channels.Nanos())
		pair[0].Leave()
	}
	done.Store(true)
	wg.Wait()
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds()/1e6, "M/s")
	s := pair[0].Port().Stats()
	b.ReportMetric(float64(sent)/float64(s.Sent), "msg/datagram")
	st := pair[0].peer(1).send.Status()
	b.Logf("sent %+v, received %+v, %+v, frames %d transmissions %d", s, pair[1].Port().Stats(), st, st.Queued, st.Sent)
}

func BenchmarkStream8(b *testing.B)     { benchmarkStream(b, 8) }
func BenchmarkStream8Ki(b *testing.B)   { benchmarkStream(b, 8<<10) }
func BenchmarkStream60000(b *testing.B) { benchmarkStream(b, 60_000) }
func BenchmarkStream64Ki(b *testing.B)  { benchmarkStream(b, 64<<10) }

// BenchmarkFrames is what a message costs both ends together, by the longest frame that it is cut
// into: the two take turns, on one processor.
func BenchmarkFrames(b *testing.B) {
	for _, transport := range []struct {
		name string
		ends func(*testing.B) [2]*end
	}{{"udp", ends}, {"tipc", namedEnds}} {
		for _, maxFrame := range []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, link.MaxFrame} {
			for _, size := range []int{60_000, 64 << 10} {
				b.Run(fmt.Sprintf("%s/%d/%d", transport.name, size, maxFrame), func(b *testing.B) {
					pair := transport.ends(b)
					pair[0].peer(1).size = maxFrame + headBytes
					data := make([]byte, size)
					b.SetBytes(int64(size))
					for b.Loop() {
						pair[0].put(b, 1, data)
						pass(pair)
					}
				})
			}
		}
	}
}

// hose is a port whose datagrams lie in memory until the other end takes them.
type hose struct {
	at, peer link.Address
	buf      [link.MaxDatagram]byte
	n        int // bytes of the last datagram, 0: taken
	to       *hose
}

func (h *hose) Local() link.Address         { return h.at }
func (h *hose) Size(link.Address) int       { return link.MaxDatagram }
func (h *hose) Buffer() []byte              { return h.buf[:] }
func (h *hose) Queue(_ link.Address, n int) { h.n = n }
func (h *hose) Flush()                      {}
func (h *hose) Stats() link.Stats           { return link.Stats{} }
func (h *hose) Close() error                { return nil }

func (h *hose) Receive(handle func(link.Address, []byte)) int {
	if h.to.n == 0 {
		return 0
	}
	n := h.to.n
	h.to.n = 0
	handle(h.peer, h.to.buf[:n])
	return 1
}

// BenchmarkInstructions is what a message of 8 bytes to another node costs besides the system.
func BenchmarkInstructions(b *testing.B) {
	pair := ends(b)
	x := &hose{at: pair[0].peer(1).address, peer: pair[0].peer(1).address}
	y := &hose{at: pair[1].peer(0).address, peer: pair[1].peer(0).address, to: x}
	x.to = y
	pair[0].port, pair[1].port = x, y
	pair[0].conn, pair[1].conn = nil, nil
	data := make([]byte, 8)
	var done atomic.Bool
	for b.Loop() {
		pair[0].put(b, 1, data)
		pair[1].take(&done)
		pair[1].put(b, 0, data)
		pair[0].take(&done)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/way")
}
