package link

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

const sealKey = 0x1122334455667788

var (
	socketA = SocketAddress(0x01001001, 100)
	socketB = SocketAddress(0x01001002, 200)
)

func sealedExamples() []Sealed {
	return []Sealed{
		{Kind: Where, Channel: 3, From: 1, To: 2, Name: 4711, Flow: FlowCredits},
		{Kind: Here, Channel: 3, From: 2, To: 1, Name: 815, Status: StatusHere},
		{Kind: Here, Channel: 3, From: 2, To: 1, Status: StatusEnded},
		{Kind: End, Channel: 15, From: 7, To: 7, Name: 9, Status: EndDied},
	}
}

func TestSealed(t *testing.T) {
	for _, s := range sealedExamples() {
		b := make([]byte, SealedBytes)
		if n := s.Put(b, sealKey, socketA, socketB); n != len(b) {
			t.Fatalf("%d bytes", n)
		}
		got, err := ParseSealed(b)
		if err != nil || got != s {
			t.Errorf("%+v became %+v: %v", s, got, err)
		}
		if _, _, err := Parse(b); err == nil {
			t.Error("it is a datagram with a key, too")
		}
		for what, right := range map[string]bool{
			"as it was sent": Opens(b, sealKey, socketA, socketB), "another key": !Opens(b, sealKey+1, socketA, socketB),
			"from another socket": !Opens(b, sealKey, SocketAddress(0x01001001, 101), socketB),
			"from another node":   !Opens(b, sealKey, SocketAddress(0x01001002, 100), socketB),
			"for another socket":  !Opens(b, sealKey, socketA, Address{}),
		} {
			if !right {
				t.Errorf("%+v, %s: the seal says otherwise", s, what)
			}
		}
		if bytes.Contains(b, []byte{0x88, 0x77, 0x66, 0x55}) {
			t.Error("the key is in it")
		}
	}
}

// TestSealedBits: whichever bit is changed, it is refused.
func TestSealedBits(t *testing.T) {
	for _, s := range sealedExamples() {
		b := make([]byte, SealedBytes)
		s.Put(b, sealKey, socketA, socketB)
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := ParseSealed(b); err == nil && Opens(b, sealKey, socketA, socketB) {
				t.Errorf("%+v: bit %d may be changed", s, bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// TestSealedPinned: agents of another version must understand it.
func TestSealedPinned(t *testing.T) {
	b := make([]byte, SealedBytes)
	s := sealedExamples()[0]
	s.Put(b, sealKey, socketA, Address{})
	const want = "000000004e0104000100000003000000010000000200000067120000000000008a940313c4868f1c0d3018bf235953c6"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSealedRefuses(t *testing.T) {
	good := sealedExamples()[0]
	for what, change := range map[string]func(b []byte) []byte{
		"short":      func(b []byte) []byte { return b[:len(b)-1] },
		"long":       func(b []byte) []byte { return append(b, 0) },
		"magic":      func(b []byte) []byte { b[sealedMagicAt] = 'S'; return b },
		"version":    func(b []byte) []byte { b[sealedVersionAt]++; return b },
		"kind":       func(b []byte) []byte { b[sealedKindAt] = byte(Data); return b },
		"status":     func(b []byte) []byte { b[sealedStatusAt] = 1; return b },
		"flow":       func(b []byte) []byte { b[sealedFlowAt] = 9; return b },
		"first zero": func(b []byte) []byte { b[0] = 1; return b },
		"zeros":      func(b []byte) []byte { b[10] = 1; return b },
		"last zeros": func(b []byte) []byte { b[29] = 1; return b },
	} {
		b := make([]byte, SealedBytes)
		good.Put(b, sealKey, socketA, Address{})
		if s, err := ParseSealed(change(b)); !errors.Is(err, ErrFrame) || s != (Sealed{}) {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	for _, bad := range []Sealed{
		{Kind: Here, Status: StatusHere},
		{Kind: Here, Name: 3, Status: StatusEnded},
		{Kind: Here, Status: 9},
		{Kind: End, Status: EndFlow},
		{Kind: End},
		{Kind: Answer},
		{},
	} {
		b := make([]byte, SealedBytes)
		bad.Put(b, sealKey, socketA, Address{})
		if _, err := ParseSealed(b); !errors.Is(err, ErrFrame) {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func FuzzParseSealed(f *testing.F) {
	for _, s := range sealedExamples() {
		b := make([]byte, SealedBytes)
		s.Put(b, sealKey, socketA, socketB)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSealed(data)
		if err != nil {
			return
		}
		b := make([]byte, SealedBytes)
		s.Put(b, sealKey, socketA, socketB)
		if !bytes.Equal(b[:sealAt], data[:sealAt]) {
			t.Errorf("%x became %x", data, b)
		}
		Opens(data, sealKey, socketA, socketB)
	})
}
