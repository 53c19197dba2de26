package drive

import (
	"encoding/binary"
	"math/rand/v2"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pokes writes into the image as its process may.
func pokes(t testing.TB, r *rank) []byte {
	t.Helper()
	info, err := r.img.File().Stat()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(r.img.File().Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem
}

// FuzzDriver lets an agent drive a context whose image and whose datagrams are what a hostile
// process makes them. It must neither panic nor hang.
func FuzzDriver(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2, 1, 1, 3, 3})
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		seed := make([]byte, 200)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, 3, abi.Geometry{Flow: uint32(len(data) % 2)})
		mem := pokes(t, w.ranks[0])
		for i := range 3 {
			w.ranks[0].send(1+i%2, make([]byte, min(3000*i, int(w.ranks[0].img.Geometry().MaxMessage))))
		}
		for len(data) > 0 {
			op := data[0]
			data = data[1:]
			hostileStep(t, w, mem, op, &data)
		}
	})
}

// take takes n bytes off the input, zeros where it has ended.
func take(data *[]byte, n int) []byte {
	b := make([]byte, n)
	*data = (*data)[copy(b, *data):]
	return b
}

func hostileStep(t *testing.T, w *world, mem []byte, op byte, data *[]byte) {
	t.Helper()
	r := w.ranks[0]
	w.now += int64(op) << 12
	switch op % 8 {
	case 0, 1, 2, 3: // a word somewhere behind the header
		b := take(data, 10)
		at := abi.HeaderBytes + int(binary.LittleEndian.Uint32(b)>>op%20)%(len(mem)-abi.HeaderBytes-8)
		copy(mem[at:], b[4:])
	case 4:
		b := take(data, 24)
		h := link.Head{Kind: link.Kind(1 + b[0]%6), Job: testKey, Channel: 1, From: uint32(b[1] % 4), To: 0}
		h.Data.Seq, h.Data.Tx = flowctl.Seq(binary.LittleEndian.Uint32(b[2:])), flowctl.Tx(binary.LittleEndian.Uint32(b[6:]))
		h.Answer.Next, h.Answer.Echo = flowctl.Seq(binary.LittleEndian.Uint32(b[10:])), flowctl.Tx(binary.LittleEndian.Uint32(b[14:]))
		h.Status, h.Flow, h.Port = b[18]%4, r.agent.flowNumber^b[22]%8/7, uint16(b[19])
		r.queue = append(r.queue, datagram{address(int(b[1]%4), 100+uint16(b[1]%4)), r.address, encodeLong(&h, int(b[20])*300, b[21]%2 == 0)})
	default:
		if r.agent.Take(time.Millisecond) != nil {
			return // the image says that somebody has the lock
		}
		switch op % 8 {
		case 5:
			r.agent.Drive(w.now)
		case 6:
			r.agent.Flush(w.now)
			r.agent.Suspend(w.now)
			r.agent.Follow()
		case 7:
			r.agent.Resume(w.now)
			r.agent.Follow()
			r.agent.Announce(link.EndDied)
		}
		r.agent.Settled()
		r.agent.Gone()
		r.agent.Leave()
	}
}

func encodeLong(h *link.Head, total int, start bool) []byte {
	var w link.Writer
	buf := make([]byte, 1472)
	w.Begin(buf, len(buf), h)
	w.Add(total, start, make([]byte, min(total, 900)))
	return buf[:w.Finish(0)]
}

// TestImageChangesUnderTheAgent: the process writes into its image while the agent drives it.
func TestImageChangesUnderTheAgent(t *testing.T) { eachFlow(t, imageChanges) }

func imageChanges(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 3, g)
	mem := pokes(t, w.ranks[0])
	stop := make(chan struct{})
	var hostile sync.WaitGroup
	hostile.Go(func() {
		random := rand.New(rand.NewPCG(5, 6))
		for {
			select {
			case <-stop:
				return
			default:
			}
			at := abi.HeaderBytes + random.IntN(len(mem)-abi.HeaderBytes-8)
			if random.IntN(2) == 0 {
				at = abi.HeaderBytes + random.IntN(16*abi.PageBytes) // where the state is
			}
			binary.LittleEndian.PutUint64(mem[at:], random.Uint64()>>random.IntN(64))
		}
	})
	random := rand.New(rand.NewPCG(7, 8))
	end := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) {
		data := make([]byte, 64)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		hostileStep(t, w, mem[:len(mem):len(mem)], 4+byte(random.IntN(4)), &data)
		if random.IntN(8) == 0 && w.ranks[1].process.Enter() {
			_ = w.ranks[1].process.Send(0, make([]byte, random.IntN(5000)), true, w.now) // too long a one fails
			w.ranks[1].process.Leave()
			w.ranks[1].drive(byProcess)
		}
	}
	close(stop)
	hostile.Wait()
}
