// Package leb128 reads numbers and length-prefixed pieces from untrusted text, such as messages
// between the nodes of a job. The numbers are unsigned LEB128, as encoding/binary appends them.
package leb128

import "encoding/binary"

// Reader reads numbers and pieces of a text. After the first mistake Bad is true and all reads
// return zeros, so one check after several reads is enough.
type Reader struct {
	text string
	bad  bool
}

// NewReader returns a Reader of text. The chunks that it returns are substrings of text.
func NewReader(text string) Reader { return Reader{text: text} }

// Left returns the number of unread bytes.
func (r *Reader) Left() int { return len(r.text) }

// Bad reports whether there was a mistake.
func (r *Reader) Bad() bool { return r.bad }

// Fail records a mistake: the text is impossible. It returns 0.
func (r *Reader) Fail() uint64 {
	r.bad, r.text = true, ""
	return 0
}

// Number reads a number.
func (r *Reader) Number() uint64 {
	var n uint64
	for i := range min(len(r.text), binary.MaxVarintLen64) {
		c := r.text[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break // more than 64 bits
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.text = r.text[i+1:]
			return n
		}
	}
	return r.Fail()
}

// Signed reads a zigzag-encoded number.
func (r *Reader) Signed() int64 {
	n := r.Number()
	return int64(n>>1) ^ -int64(n&1)
}

// Count reads the number of elements that follow, each of at least size bytes.
func (r *Reader) Count(size int) int {
	n := r.Number()
	if n > uint64(len(r.text)/size) {
		return int(r.Fail())
	}
	return int(n)
}

// Chunk reads n bytes.
func (r *Reader) Chunk(n uint64) string {
	if n > uint64(len(r.text)) {
		r.Fail()
		return ""
	}
	piece := r.text[:n]
	r.text = r.text[n:]
	return piece
}
