package main

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

const testSize = 512

func TestEveryFaultIsFound(t *testing.T) {
	noise := newNoise(testSize)
	h := header{round: 77, from: 1, to: 2}
	good := message(nil, noise, h, testSize)
	sealed := func(change func([]byte) []byte) []byte {
		data := change(append([]byte(nil), good...))
		binary.LittleEndian.PutUint32(data, crc32.Checksum(data[4:], castagnoli))
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"right":      {good, ""},
		"last":       {message(nil, noise, header{round: 77, from: 1, to: 2, last: true}, testSize), ""},
		"short":      {good[:headerSize-1], "no message"},
		"a bit":      {append(append([]byte(nil), good[:len(good)-1]...), good[len(good)-1]^1), "checksum"},
		"cut":        {sealed(func(d []byte) []byte { return d[:len(d)-1] }), "bytes, want"},
		"doubled":    {message(nil, noise, header{round: 76, from: 1, to: 2}, testSize), "round 76"},
		"lost":       {message(nil, noise, header{round: 78, from: 1, to: 2}, testSize), "round 78"},
		"another's":  {message(nil, noise, header{round: 77, from: 3, to: 2}, testSize), "rank 3"},
		"misaddress": {message(nil, noise, header{round: 77, from: 1, to: 3}, testSize), "to rank 3"},
	} {
		last, err := check(c.data, h, testSize)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if last != (name == "last") {
			t.Errorf("%s: last is %v", name, last)
		}
	}
}

func TestLengths(t *testing.T) {
	shortest, longest := testSize, 0
	for round := range uint64(10_000) {
		n := header{round: round, from: 1, to: 2}.length(testSize)
		shortest, longest = min(shortest, n), max(longest, n)
	}
	if shortest != headerSize || longest != testSize {
		t.Errorf("lengths from %d to %d, want %d to %d", shortest, longest, headerSize, testSize)
	}
}
