package bfrops

import (
	"encoding/binary"
	"math/bits"
)

// Encoding determines how numbers are written. Everything else follows from that.
type Encoding uint8

const (
	// V41 is the encoding of libpmix 4.0 and later, which have two names for it.
	V41 Encoding = iota + 1
	// V3 is the encoding of libpmix 3.
	V3
)

// Named returns the encoding of a name that a client sent.
func Named(name string) (Encoding, bool) {
	switch name {
	case "v41", "v4":
		return V41, true
	case "v3":
		return V3, true
	}
	return 0, false
}

func (e Encoding) String() string {
	switch e {
	case V41:
		return "v41"
	case V3:
		return "v3"
	}
	return "unknown"
}

// lastOfV3 is the last type that libpmix 3 knows.
const lastOfV3 = EnvVar

// Reads reports whether clients of the encoding can read a value. With a value that they cannot
// read, clients of V3 lose everything beside it.
func (e Encoding) Reads(v *Value) bool {
	if e != V3 {
		return true
	}
	if v.Type > lastOfV3 || v.Elem > lastOfV3 || v.Type == CompressedText || v.Elem == CompressedText {
		return false // libpmix 3 has no way to unpack its own compressed text
	}
	for i := range v.Parts {
		if !e.Reads(&v.Parts[i]) {
			return false
		}
	}
	return true
}

// flexBytes is the maximal number of bytes with seven bits of a number. A ninth byte holds the
// other eight of 64 bits.
const flexBytes = 8

// appendFlex appends an unsigned number in V41: seven bits a byte, the lowest first; a ninth byte
// has eight bits.
func appendFlex(dst []byte, n uint64) []byte {
	for range flexBytes {
		if n < 0x80 {
			return append(dst, byte(n))
		}
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// flex reads a number in V41, and returns its size in bytes; 0 if it is cut off.
func flex(data []byte) (n uint64, size int) {
	for i, c := range data[:min(len(data), flexBytes)] {
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return n, i + 1
		}
	}
	if len(data) <= flexBytes {
		return 0, 0
	}
	return n | uint64(data[flexBytes])<<(7*flexBytes), flexBytes + 1
}

// zigzag folds the sign into the lowest bit.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// appendFixed appends the low bytes of a number in network order.
func appendFixed(dst []byte, n uint64, width int) []byte {
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], n)
	return append(dst, all[8-width:]...)
}

func fixed(data []byte) (n uint64) {
	for _, c := range data {
		n = n<<8 | uint64(c)
	}
	return n
}

// signExtend returns the 64-bit pattern of a signed number of width bytes.
func signExtend(n uint64, width int) uint64 {
	shift := 64 - 8*width
	return uint64(int64(n<<shift) >> shift)
}

// fits reports whether an unsigned number has at most width bytes.
func fits(n uint64, width int) bool { return bits.Len64(n) <= 8*width }
