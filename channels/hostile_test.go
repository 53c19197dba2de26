package channels

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"score/channels/abi"
	"score/flowctl"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pageBytes is a multiple of what the system gives back.
var pageBytes = os.Getpagesize()

// scribble writes nonsense into the image that looks almost right: records, ring
// positions, table entries, and plain random words.
func scribble(img *Image, random *rand.Rand) {
	l := &img.layout
	line := func(ring uint64, bytes uint32) uint64 {
		return ring + uint64(random.Uint32N(bytes/abi.LineBytes))*abi.LineBytes
	}
	record := func() uint64 {
		return abi.Commit(int(random.Uint32N(1<<random.IntN(25))), uint8(random.IntN(9)), random.Uint32N(1<<random.IntN(20)))
	}
	put := func(at, v uint64) { atomic.StoreUint64(img.mem.u64(at), v) }
	switch random.IntN(12) {
	case 11: // pages that its rank gives back to the system: all of them become zero at once
		pages := len(img.mem) / pageBytes
		first := random.IntN(pages)
		last := first + 1 + random.IntN(min(pages-first, 4))
		_ = unix.Madvise(img.mem[first*pageBytes:last*pageBytes], unix.MADV_REMOVE) // a heap has no file
	case 10: // a lane's end, in front of the reader perhaps
		at := line(l.SharedRing, l.SharedBytes)
		put(at+16, random.Uint64N(20))
		put(at+8, uint64(random.Uint32N(2*l.Lanes)))
		put(at, abi.Commit(abi.LaneEndBytes, abi.KindLaneEnd, random.Uint32N(16)))
	case 9: // wanted, offers, recalls; a lane's owner
		put(l.Status+24+8*random.Uint64N(2), random.Uint64()>>random.IntN(64))
		put(l.Lane(random.Uint32N(l.Lanes))+64, []uint64{0, abi.LaneWithheld, random.Uint64N(20)}[random.IntN(3)])

	case 8:
		put(l.Arrivals+8*random.Uint64N(uint64(l.Ranks)), random.Uint64()>>random.IntN(64))
	case 0:
		put(line(l.SharedRing, l.SharedBytes), record())
	case 1:
		put(line(l.NetRing, l.NetBytes+l.LaneBytes*l.Lanes), record())
	case 2:
		put(line(l.NetRing, l.NetBytes+l.LaneBytes*l.Lanes)+8, uint64(random.Uint32N(70000))|random.Uint64N(2)<<32)
	case 3:
		put(line(l.SharedRing, l.SharedBytes)+8, uint64(random.Uint32N(64)))
	case 4:
		put(l.SharedControl+64*random.Uint64N(2), random.Uint64()>>random.IntN(64))
	case 5:
		put(l.LaneControl+64*random.Uint64N(uint64(l.Lanes)*2), random.Uint64N(20))
	case 6:
		put(l.Peers+8*random.Uint64N(uint64(l.Ranks)*16), random.Uint64()>>random.IntN(64))
	default:
		put(8*random.Uint64N(l.Total/8), random.Uint64()>>random.IntN(64))
	}
}

// useAll calls everything that reads an image.
func useAll(img *Image, in *Inbox, s *Sender, b *SendBuffer, random *rand.Rand) {
	if m, ok := in.Poll(); ok {
		for _, c := range m.Head() {
			_ = c
		}
		in.Lost(m)
		_ = in.Release(m)
		_ = in.Release(m)
	}
	in.Gone()
	in.checkLanes()
	if s.Recalled() || random.IntN(8) == 0 {
		s.GiveBack()
	}
	in.Stuck()
	_ = in.TakeDamage()
	_ = s.Send(make([]byte, random.IntN(1900)))
	if buf, err := s.Reserve(random.IntN(1900)); err == nil {
		clear(buf)
		_ = s.Commit()
	}
	s.Room()
	s.AwaitSpace()
	rank := random.Uint32N(16)
	if k, buf, err := b.Reserve(random.IntN(1900)); err == nil {
		clear(buf)
		_ = b.Append(rank, k, 1, 2)
	}
	if k, err := b.Oldest(rank); err == nil {
		_, _ = b.Bytes(k)
		_, _ = b.Next(k)
	}
	_, _ = b.Acknowledged(rank, flowctl.Seq(random.Uint32()))
	_ = b.Free(Kept(random.Uint32N(100)))
	if d, err := img.Delivery(); err == nil {
		_ = d.Whole(rank, make([]byte, random.IntN(1900)))
		_ = d.Begin(rank, random.IntN(1900), make([]byte, random.IntN(100)))
		_, _ = d.More(rank, make([]byte, random.IntN(100)))
		_ = d.Lose(random.Uint32N(16))
	}
	if img.Enter() == nil {
		img.Leave()
	}
}

// TestHostileImage has one goroutine change the image while another uses all of
// it: no panic, no hang, no access outside.
func TestHostileImage(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range 5 {
		img := newImage(t, 16, small)
		var stop atomic.Bool
		var hostile sync.WaitGroup
		hostile.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(round)))
			for i := 0; !stop.Load(); i++ {
				scribble(img, random)
				if i%64 == 0 {
					runtime.Gosched()
				}
			}
		})
		random := rand.New(rand.NewPCG(seed, uint64(round)+1000))
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
			in, err := img.InboxWithin(NewLaneMemory(2*4096), func(rank uint32) {
				if rank >= 16 {
					t.Errorf("woke rank %d", rank)
				}
			}, func(rank uint32) {
				if rank >= 16 {
					t.Errorf("asked rank %d for its lane", rank)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			s, err := img.Sender(random.Uint32N(16))
			if err != nil {
				t.Fatal(err)
			}
			b := img.SendBuffer()
			for range 20 {
				useAll(img, in, s, b, random)
			}
			_, err = img.Take(time.Microsecond)
			if err != nil && !errors.Is(err, ErrHolder) {
				t.Error(err)
			}
			img.AllowDriving()
		}
		stop.Store(true)
		hostile.Wait()
	}
}

// FuzzImage attaches to arbitrary bytes, laid over a good image, and uses what can be attached.
func FuzzImage(f *testing.F) {
	f.Add(uint16(0), []byte{})
	f.Add(uint16(64), binary.LittleEndian.AppendUint64(nil, abi.Commit(40, abi.KindData, 1)))
	f.Add(uint16(64), binary.LittleEndian.AppendUint64(nil, abi.Commit(0, abi.KindPad, 1)))
	f.Add(uint16(64), binary.LittleEndian.AppendUint64(nil, abi.Commit(0, abi.KindLane, 1)))
	f.Add(uint16(64), binary.LittleEndian.AppendUint64(nil, abi.Commit(1900, abi.KindGrowing, 1)))
	f.Add(uint16(64), binary.LittleEndian.AppendUint64(nil, abi.Commit(abi.LaneEndBytes, abi.KindLaneEnd, 1)))
	f.Add(uint16(8), binary.LittleEndian.AppendUint64(nil, 2))
	f.Fuzz(func(t *testing.T, at uint16, data []byte) {
		img := heapImage(t, 3, small)
		// the shared ring begins the second half of where data may go
		to := uint64(at)
		if at >= 1<<15 {
			to = img.layout.SharedControl + uint64(at-1<<15)
		}
		copy(img.mem[min(to, img.layout.Total):], data)
		again := &Image{mem: img.mem}
		if again.adopt() != nil {
			return
		}
		in, err := again.Inbox(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := again.Sender(1)
		if errors.Is(err, ErrRank) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 10 {
			useAll(again, in, s, again.SendBuffer(), random)
		}
	})
}
