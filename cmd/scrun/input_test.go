package main

import (
	"bytes"
	"score/scored/api"
	"score/scored/api/scorev1"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ranks stand for those that read, behind streams that break.
type ranks struct {
	got   []byte
	ended bool
	next  uint64 // offset that comes next
}

// take is what the steward does with a message; see nodeagent/steward, input.accept.
func (r *ranks) take(t *rapid.T, m *scorev1.Stdin) {
	data, end := m.GetData(), api.InputEnd(m)
	if m.GetOffset() > r.next {
		t.Fatalf("a gap: %d follows %d", m.GetOffset(), r.next)
	}
	if end <= r.next {
		return
	}
	r.got = append(r.got, data[min(r.next-m.GetOffset(), uint64(len(data))):]...)
	r.ended = r.ended || m.GetEof()
	r.next = end
}

// Whatever breaks, and whenever it is told what was taken: each byte arrives once, in order, and
// the end once.
func TestInputArrivesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSentInput(newAttachments(nil))
		want := rapid.SliceOfN(rapid.Byte(), 0, 3*inputChunk).Draw(t, "input")
		r := &ranks{}
		stream := new(attachment)
		put, ended, way := 0, false, []*scorev1.Stdin(nil)
		for step := 0; !r.ended; step++ {
			if step > 10_000 {
				t.Fatalf("it does not end: %d of %d bytes", len(r.got), len(want))
			}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0: // something is read
				n := min(rapid.IntRange(1, inputChunk).Draw(t, "piece"), len(want)-put)
				if n > 0 && s.put(&scorev1.Stdin{Data: want[put : put+n]}) {
					put += n
				}
				if put == len(want) && !ended {
					ended = s.put(&scorev1.Stdin{Eof: true})
				}
			case 1, 2: // something is sent
				if m := s.next(stream); m != nil {
					m.Data = bytes.Clone(m.GetData())
					way = append(way, m)
				}
			case 3: // something arrives
				if len(way) > 0 {
					r.take(t, way[0])
					way = way[1:]
				}
			case 4: // the ranks' word arrives
				s.taken(r.next)
			case 5: // the stream breaks, with what is on its way
				stream, way = new(attachment), nil
			}
			if len(s.kept) > inputKept+inputChunk {
				t.Fatalf("%d bytes are kept", len(s.kept))
			}
		}
		if !bytes.Equal(r.got, want) {
			t.Fatalf("%d bytes arrived of %d", len(r.got), len(want))
		}
	})
}

// What nobody takes makes the source wait, until ctx ends.
func TestInputWaits(t *testing.T) {
	s := newSentInput(newAttachments(nil))
	for s.put(&scorev1.Stdin{Data: make([]byte, inputChunk)}) {
	}
	added := make(chan error)
	go func() { added <- s.add(t.Context(), &scorev1.Stdin{Data: []byte("more")}) }()
	select {
	case <-added:
		t.Fatal("there was room")
	case <-time.After(10 * time.Millisecond): // time in which a wrong one would not wait
	}
	s.taken(inputChunk)
	if err := <-added; err != nil {
		t.Error(err)
	}
}
