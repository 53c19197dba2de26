package mem

import (
	"bytes"
	"math"
	"os"
	"testing"
)

func TestHandle(t *testing.T) {
	h := Handle{FD: 7, Size: 3 << 16, Device: 1<<40 + 1, Inode: math.MaxUint64}
	b := h.Encode()
	got, err := ParseHandle(b[:])
	if err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	want := []byte{
		0x31, 0x3e, 0xc0, 0x5, 7, 0, 0, 0,
		0, 0, 3, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 0, 1, 0, 0,
		255, 255, 255, 255, 255, 255, 255, 255,
	}
	if !bytes.Equal(b[:], want) {
		t.Errorf("encoded as %v", b)
	}
}

func TestBadHandles(t *testing.T) {
	page := uint64(os.Getpagesize())
	for name, h := range map[string]Handle{
		"size 0":             {},
		"part of a page":     {Size: page + 1},
		"too large":          {Size: MaxWindow + page},
		"much too large":     {Size: -page},
		"descriptor too big": {Size: page, FD: math.MaxInt32 + 1},
		"negative":           {Size: page, FD: math.MaxUint32},
	} {
		b := h.Encode()
		_, err := ParseHandle(b[:])
		wantError(t, name, err, ErrHandle)
		_, err = openSelf(t, NewCache(0)).Map(h)
		wantError(t, name+", unparsed", err, ErrHandle)
	}
	good := Handle{Size: page}.Encode()
	for name, b := range map[string][]byte{
		"nothing": nil, "short": good[:HandleBytes-1], "long": append(good[:], 0), "magic": make([]byte, HandleBytes),
	} {
		_, err := ParseHandle(b)
		wantError(t, name, err, ErrHandle)
	}
}

func FuzzParseHandle(f *testing.F) {
	good := Handle{FD: 3, Size: 1 << 20, Device: 1, Inode: 5}.Encode()
	f.Add(good[:])
	f.Add(good[:20])
	f.Add(make([]byte, HandleBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHandle(b)
		if err != nil {
			wantError(t, "parse", err, ErrHandle)
			return
		}
		if again := h.Encode(); !bytes.Equal(again[:], b) {
			t.Errorf("%x is encoded as %x", b, again)
		}
		if h.check() != nil {
			t.Errorf("%+v is refused later", h)
		}
	})
}
