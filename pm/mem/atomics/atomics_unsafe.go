package atomics

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// The casts of the package: a number of a checked vector as a word, and the 32-bit word around a
// smaller number.

// aligned reports whether the address of a vector, which is not empty, is a multiple of the size.
func aligned(vector []byte, size int) bool {
	return uintptr(unsafe.Pointer(&vector[0]))%uintptr(size) == 0
}

// element is the address of a number in a vector that has been checked.
type element unsafe.Pointer

// elementAt is the number at the offset of the vector, which is below its length.
func elementAt(vector []byte, offset int) element { return element(&vector[offset]) }

// narrow, wide32 and wide64 change one element and return what it was. A number that stays the same
// is not written: then the load is the whole operation, and the line stays with those who read it.

func (k kernel) narrow(e element, operand uint64) (old uint64) {
	p, shift, mask := around(e, k.size)
	for {
		whole := atomic.LoadUint32(p)
		old = uint64(whole >> shift & mask)
		changed := uint32(k.combine(old, operand)) & mask
		if changed == uint32(old) || atomic.CompareAndSwapUint32(p, whole, whole&^(mask<<shift)|changed<<shift) {
			return old
		}
	}
}

// around is the aligned word around a number of less than 4 bytes, and where in it the number is.
func around(e element, size int) (p *uint32, shift uintptr, mask uint32) {
	const word = 4
	within := uintptr(e) % word
	p = (*uint32)(unsafe.Add(unsafe.Pointer(e), -int(within)))
	shift = 8 * within
	if bigEndian {
		shift = 8 * (word - within - uintptr(size))
	}
	return p, shift, 1<<(8*size) - 1
}

// compareAndSwap replaces the number if it equals compare, and returns what it was.
func compareAndSwap(e element, size int, compare, v uint64) (old uint64) {
	switch size {
	case 4:
		return uint64(compareAndSwap32((*uint32)(e), uint32(compare), uint32(v)))
	case 8:
		return compareAndSwap64((*uint64)(e), compare, v)
	}
	p, shift, mask := around(e, size)
	for {
		whole := atomic.LoadUint32(p)
		old = uint64(whole >> shift & mask)
		if old != compare || atomic.CompareAndSwapUint32(p, whole, whole&^(mask<<shift)|uint32(v)<<shift) {
			return old
		}
	}
}

func (k kernel) wide32(e element, operand uint64) (old uint64) {
	p := (*uint32)(e)
	if k.native32 != nil {
		return uint64(k.native32(p, uint32(operand)))
	}
	for {
		was := atomic.LoadUint32(p)
		changed := uint32(k.combine(uint64(was), operand))
		if changed == was || atomic.CompareAndSwapUint32(p, was, changed) {
			return uint64(was)
		}
	}
}

func (k kernel) wide64(e element, operand uint64) (old uint64) {
	p := (*uint64)(e)
	if k.native64 != nil {
		return k.native64(p, operand)
	}
	for {
		was := atomic.LoadUint64(p)
		changed := k.combine(was, operand)
		if changed == was || atomic.CompareAndSwapUint64(p, was, changed) {
			return was
		}
	}
}

// bigEndian reports whether the first byte of a word is its highest.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1
