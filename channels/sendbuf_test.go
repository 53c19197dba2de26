package channels

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"score/channels/abi"
	"score/flowctl"
	"testing"

	"pgregory.net/rapid"
)

// TestSendBufferModel compares a send buffer with a list of messages per rank.
func TestSendBufferModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &sendBufferModel{buffer: heapImage(t, modelRanks, abi.Geometry{SendBytes: 8192, MaxMessage: 5000}).SendBuffer()}
		for i := range m.next {
			m.next[i] = ^flowctl.Seq(0) - 5 // wraps soon
		}
		r.Repeat(map[string]func(*rapid.T){"append": m.append, "acknowledge": m.acknowledge, "": m.check})
	})
}

// TestSendBufferStaysNear: as long as messages are acknowledged, the same memory is used again and
// again.
func TestSendBufferStaysNear(t *testing.T) {
	img, _ := apartImage(t, 2, abi.Geometry{})
	b := img.SendBuffer()
	idle := blocks(t, img)
	var unanswered []Kept
	for range 5000 {
		k, _, err := b.Reserve(2000)
		if err != nil {
			t.Fatal(err)
		}
		if unanswered = append(unanswered, k); len(unanswered) > 3 {
			if err := b.Free(unanswered[0]); err != nil {
				t.Fatal(err)
			}
			unanswered = unanswered[1:]
		}
	}
	if got := blocks(t, img) - idle; got > abi.DefaultSendBytes/nearShareOfSendBuffer+aheadBytes {
		t.Errorf("%d bytes", got)
	}
}

const modelRanks = 5

type sendBufferModel struct {
	buffer *SendBuffer
	lists  [modelRanks][]keptMessage
	next   [modelRanks]flowctl.Seq
	serial int
}

// keptMessage is a message that was not acknowledged.
type keptMessage struct {
	k    Kept
	data []byte
	end  flowctl.Seq
}

func (m *sendBufferModel) used() (granules uint32) {
	for _, list := range m.lists {
		for _, message := range list {
			granules += granulesFor(len(message.data))
		}
	}
	return granules
}

func (m *sendBufferModel) append(r *rapid.T) {
	rank := rapid.IntRange(0, modelRanks-1).Draw(r, "rank")
	length := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 5000)).Draw(r, "length")
	k, buf, err := m.buffer.Reserve(length)
	if errors.Is(err, ErrFull) {
		if m.used() == 0 {
			r.Fatalf("%d bytes do not fit into an empty buffer", length)
		}
		return
	}
	if err != nil || len(buf) != length {
		r.Fatal(err, len(buf))
	}
	if rapid.IntRange(0, 5).Draw(r, "drop") == 0 {
		if err := m.buffer.Free(k); err != nil {
			r.Fatal(err)
		}
		return
	}
	m.serial++
	data := text(m.serial, length)
	copy(buf, data)
	frames := uint32(1 + length/1400)
	if err := m.buffer.Append(uint32(rank), k, m.next[rank], frames); err != nil {
		r.Fatal(err)
	}
	m.next[rank] += flowctl.Seq(frames)
	m.lists[rank] = append(m.lists[rank], keptMessage{k, data, m.next[rank]})
}

func (m *sendBufferModel) acknowledge(r *rapid.T) {
	rank := rapid.IntRange(0, modelRanks-1).Draw(r, "rank")
	list := m.lists[rank]
	keep := rapid.IntRange(0, len(list)).Draw(r, "keep")
	freed := len(list) - keep
	upTo := m.next[rank]
	if keep > 0 {
		upTo = list[freed].end - 1 // one frame of it is missing
	}
	n, err := m.buffer.Acknowledged(uint32(rank), upTo)
	if err != nil || n != freed {
		r.Fatalf("%d messages freed, want %d; %v", n, freed, err)
	}
	m.lists[rank] = list[freed:]
}

func (m *sendBufferModel) check(r *rapid.T) {
	for rank, list := range m.lists {
		k, err := m.buffer.Oldest(uint32(rank))
		for _, message := range list {
			if err != nil || k != message.k {
				r.Fatalf("list of rank %d: %d, want %d; %v", rank, k, message.k, err)
			}
			data, err := m.buffer.Bytes(k)
			if err != nil || !bytes.Equal(data, message.data) {
				r.Fatalf("a kept message changed: %v", err)
			}
			if k, err = m.buffer.Next(k); err != nil {
				r.Fatal(err)
			}
		}
		if k != 0 {
			r.Fatalf("list of rank %d goes on with %d", rank, k)
		}
	}
}

func TestSendBufferEdges(t *testing.T) {
	img := newImage(t, 2, abi.Geometry{})
	b := img.SendBuffer()
	if _, _, err := b.Reserve(abi.DefaultMaxMessage + 1); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	n := 0
	for ; ; n++ {
		if _, _, err := b.Reserve(abi.DefaultMaxMessage); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Error(err)
			}
			break
		}
	}
	if n != 31 {
		t.Errorf("%d of the longest messages fit into 2 MiB, want 31", n)
	}
	for _, k := range []Kept{0, Kept(b.granules() + 1), ^Kept(0)} {
		if err := b.Free(k); !errors.Is(err, ErrDamaged) {
			t.Errorf("free %d: %v", k, err)
		}
	}
	if err := b.Append(2, 1, 0, 1); !errors.Is(err, ErrRank) {
		t.Error(err)
	}
	if ok, err := b.Drop(1); ok || err != nil {
		t.Error(ok, err)
	}
}

// TestSendBufferLoop: a list that a hostile process closed to a ring ends the walk.
func TestSendBufferLoop(t *testing.T) {
	img := heapImage(t, 2, small)
	b := img.SendBuffer()
	k, _, err := b.Reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Append(1, k, 0, 0); err != nil {
		t.Fatal(err)
	}
	at, _, _ := b.place(k)
	*img.mem.u32(at) = uint32(k)
	if n, err := b.Acknowledged(1, 5); err != nil || n > int(b.granules())+1 {
		t.Errorf("%d messages, %v", n, err)
	}
}

func BenchmarkSendBuffer(b *testing.B) {
	buf := newImage(b, 2, abi.Geometry{}).SendBuffer()
	random := rand.New(rand.NewPCG(1, 1))
	seq := flowctl.Seq(0)
	for b.Loop() {
		k, _, err := buf.Reserve(8 + random.IntN(100))
		if err != nil {
			b.Fatal(err)
		}
		if err := buf.Append(1, k, seq, 1); err != nil {
			b.Fatal(err)
		}
		seq++
		if seq%64 == 0 {
			if _, err := buf.Acknowledged(1, seq); err != nil {
				b.Fatal(err)
			}
		}
	}
}
