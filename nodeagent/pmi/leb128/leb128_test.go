package leb128

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, n := range []uint64{0, 1, 127, 128, 1 << 20, math.MaxInt64, math.MaxUint64} {
		r := NewReader(string(binary.AppendUvarint(nil, n)) + "x")
		if got := r.Number(); got != n || r.Bad() || r.Left() != 1 {
			t.Errorf("%d: %d, bad %v, %d left", n, got, r.Bad(), r.Left())
		}
	}
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		r := NewReader(string(binary.AppendVarint(nil, n)))
		if got := r.Signed(); got != n || r.Bad() {
			t.Errorf("%d: %d, bad %v", n, got, r.Bad())
		}
	}
}

func TestPieces(t *testing.T) {
	r := NewReader("\x02\x03abc\x00")
	if n := r.Count(2); n != 2 {
		t.Errorf("%d things", n)
	}
	if piece := r.Chunk(r.Number()); piece != "abc" {
		t.Errorf("%q", piece)
	}
	if piece := r.Chunk(r.Number()); piece != "" || r.Bad() || r.Left() != 0 {
		t.Errorf("%q, bad %v, %d left", piece, r.Bad(), r.Left())
	}
}

// TestMistakes: after the first there are only zeros.
func TestMistakes(t *testing.T) {
	for name, r := range map[string]Reader{
		"nothing":           NewReader(""),
		"cut off":           NewReader("\x80"),
		"more than 64 bits": NewReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
		"longer":            NewReader("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
	} {
		if n := r.Number(); n != 0 || !r.Bad() {
			t.Errorf("%s: %d", name, n)
		}
	}
	for name, read := range map[string]func(r *Reader){
		"count that lies": func(r *Reader) { r.Count(2) },
		"chunk that lies": func(r *Reader) { r.Chunk(r.Number()) },
	} {
		r := NewReader("\x05abcd")
		if read(&r); !r.Bad() || r.Left() != 0 || r.Number() != 0 || r.Chunk(1) != "" || r.Count(1) != 0 {
			t.Errorf("%s: bad %v, %d left", name, r.Bad(), r.Left())
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("\x02\x03abc\x00", uint64(3))
	f.Fuzz(func(t *testing.T, text string, n uint64) {
		r := NewReader(text)
		for !r.Bad() && r.Left() > 0 {
			before := r.Left()
			if count := r.Count(1); count > r.Left() {
				t.Fatalf("%d things in %d bytes", count, r.Left())
			}
			r.Chunk(n % 8)
			if r.Left() >= before {
				t.Fatal("nothing was read")
			}
		}
	})
}
