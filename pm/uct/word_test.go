package uct_test

import (
	"bytes"
	"encoding/binary"
	"score/pm/uct"
	"testing"
)

// TestSendWord: one or two words and data come as one payload, whatever the length, between
// messages of Send.
func TestSendWord(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var got [][]byte
		j[1].iface.Handle(firstID, func(p *uct.Packet) {
			first, err := p.Prefix(min(8, p.Len()))
			rest := make([]byte, p.Len())
			n, err2 := p.CopyTo(rest, len(first))
			if err != nil || err2 != nil || p.Arg != uint32(len(got)) {
				t.Errorf("packet %+v: %v, %v", p.Header, err, err2)
			}
			got = append(got, append(bytes.Clone(first), rest[:n]...))
		})
		ep := j.ep(t, 0, 1)
		var want [][]byte
		h := func() uct.Header { return uct.Header{ID: firstID, Arg: uint32(len(want))} }
		for _, n := range []int{0, 1, 7, 8, 9, 23, 24, 25, 31, 32, 33, 40, 41, 100, 5000, 60000} {
			data := bytes.Repeat([]byte{byte(n)}, n)
			word := uint64(n) * 0x0101_0101_0101_0101
			j.retry(t, func() error { return ep.SendWord(h(), word, data) })
			want = append(want, append(binary.LittleEndian.AppendUint64(nil, word), data...))
			j.retry(t, func() error { return ep.SendWords(h(), word, ^word, data) })
			words := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, word), ^word)
			want = append(want, append(words, data...))
			j.retry(t, func() error { return ep.Send(h(), data) })
			want = append(want, data)
		}
		j.until(t, func() bool { return len(got) == len(want) })
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("message %d: %d bytes, want %d", i, len(got[i]), len(want[i]))
			}
		}
	})
}
