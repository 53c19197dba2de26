package tipc

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"score/channels/link"
	"testing"

	"golang.org/x/sys/unix"
)

var example = Event{
	First: 4711, Last: 4711, Socket: link.SocketAddress(0x01001002, 99), Range: Range{Kind: 18888, First: 4700, Last: 4800}, Handle: 5,
}

// encode is an event as the kernel writes it.
func encode(e Event) []byte {
	b := make([]byte, eventBytes)
	word := uint32(unix.TIPC_PUBLISHED)
	if e.Gone {
		word = unix.TIPC_WITHDRAWN
	}
	node, reference, _ := e.Socket.Socket()
	for at, v := range map[int]uint32{0: word, eventFirstAt: e.First, eventLastAt: e.Last, eventRefAt: reference, eventNodeAt: node} {
		binary.NativeEndian.PutUint32(b[at:], v)
	}
	sub := subscription(e.Range, e.Handle, eachSocket)
	copy(b[eventSubAt:], sub[:])
	return b
}

func TestEvent(t *testing.T) {
	for _, gone := range []bool{false, true} {
		want := example
		want.Gone = gone
		if got, err := parseEvent(encode(want)); err != nil || got != want {
			t.Errorf("%+v became %+v: %v", want, got, err)
		}
	}
	part := example
	part.First, part.Last = 0, 1<<32-1 // somebody has bound more than was subscribed to
	if got, err := parseEvent(encode(part)); err != nil || got != part {
		t.Errorf("%+v became %+v: %v", part, got, err)
	}
}

func TestSubscription(t *testing.T) {
	for filter, want := range map[uint32]string{
		eachSocket:              "c84900005c120000c0120000ffffffff010000000500000000000000",
		eachSocket | cancelling: "c84900005c120000c0120000ffffffff050000000500000000000000",
	} {
		got := subscription(example.Range, example.Handle, filter)
		if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && hex.EncodeToString(got[:]) != want {
			t.Errorf("got  %x\nwant %s", got, want)
		}
	}
}

func TestEventRefuses(t *testing.T) {
	for what, change := range map[string]func(b []byte) []byte{
		"nothing":       func([]byte) []byte { return nil },
		"short":         func(b []byte) []byte { return b[:len(b)-1] },
		"long":          func(b []byte) []byte { return append(b, 0) },
		"a timeout":     func(b []byte) []byte { binary.NativeEndian.PutUint32(b, 3); return b },
		"its end first": func(b []byte) []byte { binary.NativeEndian.PutUint32(b[eventLastAt:], 0); return b },
		"another's name": func(b []byte) []byte {
			binary.NativeEndian.PutUint32(b[eventFirstAt:], 5000)
			binary.NativeEndian.PutUint32(b[eventLastAt:], 5000)
			return b
		},
		"another filter": func(b []byte) []byte { b[eventSubAt+subFilterAt] |= unix.TIPC_SUB_SERVICE; return b },
	} {
		if e, err := parseEvent(change(encode(example))); !errors.Is(err, errEvent) || e != (Event{}) {
			t.Errorf("%s: %+v, %v", what, e, err)
		}
	}
}

func FuzzEvent(f *testing.F) {
	f.Add(encode(example))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := parseEvent(data); err == nil && (e.Last < e.Range.First || e.First > e.Range.Last) {
			t.Errorf("%+v", e)
		}
	})
}
