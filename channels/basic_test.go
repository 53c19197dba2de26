package channels

import (
	"bytes"
	"errors"
	"fmt"
	"score/channels/abi"
	"testing"
)

// newImage makes the image of rank 0 among ranks on one node.
func newImage(t testing.TB, ranks uint32, g abi.Geometry) *Image {
	t.Helper()
	return rankImage(t, 0, ranks, g)
}

func rankImage(t testing.TB, rank, ranks uint32, g abi.Geometry) *Image {
	t.Helper()
	g.Ranks, g.LocalRanks = ranks, ranks
	local := make([]uint32, ranks)
	for i := range local {
		local[i] = uint32(i)
	}
	img, err := Create(Identity{Job: 7, Rank: rank, Channel: 1}, g, local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

func newPair(t testing.TB, ranks uint32, g abi.Geometry) (*Inbox, *Sender) {
	t.Helper()
	img := newImage(t, ranks, g)
	in, err := img.Inbox(nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := img.Sender(1)
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}

// mustPoll polls until there is a message; opening a lane takes a round.
func mustPoll(t testing.TB, in *Inbox) Message {
	t.Helper()
	for range 3 {
		if m, ok := in.Poll(); ok {
			return m
		}
	}
	t.Fatalf("no message; damage: %v", in.Damage())
	return Message{}
}

func text(i, length int) []byte {
	b := make([]byte, length)
	for k := range b {
		b[k] = byte(i*31 + k*7)
	}
	return b
}

func TestEveryLengthArrives(t *testing.T) {
	for _, ranks := range []uint32{2, 40} { // with a lane at once, and with the shared ring first
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			in, out := newPair(t, ranks, abi.Geometry{})
			for _, length := range []int{0, 1, 7, 8, 9, 47, 48, 49, 64, 111, 112, 113, 4095, 4096, 4097, 40000, 65535, 65536, abi.DefaultMaxMessage} {
				for i := range 9 {
					want := text(i, length)
					if err := out.Send(want); err != nil {
						t.Fatalf("length %d, message %d: %v", length, i, err)
					}
					m := mustPoll(t, in)
					if m.Rank() != 1 || m.Len() != length || !bytes.Equal(m.Head(), want) {
						t.Fatalf("length %d, message %d: rank %d, %d bytes", length, i, m.Rank(), m.Len())
					}
					if err := in.Release(m); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := out.Send(make([]byte, abi.DefaultMaxMessage+1)); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("one byte too many: %v", err)
			}
		})
	}
}

func TestFullAndInOrder(t *testing.T) {
	in, out := newPair(t, 2, abi.Geometry{})
	sent, got := 0, 0
	for range 50 {
		for out.Send(text(sent, sent%3000)) == nil {
			sent++
		}
		for range 40 {
			m := mustPoll(t, in)
			if !bytes.Equal(m.Head(), text(got, got%3000)) {
				t.Fatalf("message %d differs", got)
			}
			got++
			if err := in.Release(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got != 2000 || sent < got {
		t.Fatalf("sent %d, got %d", sent, got)
	}
}
