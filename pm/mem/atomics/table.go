package atomics

import (
	"encoding/binary"
	"sync/atomic"
)

// Func applies the operand to the target, element by element, and stores what each element was in
// the result. The target's address must be a multiple of the element's size; the others need not.
// The operand may be nil for NoOp, the result if nobody wants it. Nothing changes if an error is
// returned: ErrLength or ErrAlign.
type Func func(target, operand, result []byte) error

// Lookup returns the function for an operation and a type. It is not ok for bitwise operations on
// floating point, and for what is no operation or type.
func Lookup(op Op, t Type) (f Func, ok bool) {
	if op >= ops || t >= types {
		return nil, false
	}
	f = table[op][t]
	return f, f != nil
}

// CompareAndSwap replaces each element of the target by that of the operand if it has the same bits
// as that of compare, and stores what it was in the result. All but a result that nobody wants are
// as long as the target.
func CompareAndSwap(t Type, target, compare, operand, result []byte) error {
	size := t.Size()
	if err := checkVectors(size, target, operand, result); err != nil {
		return err
	}
	if operand == nil || len(compare) != len(target) {
		return ErrLength
	}
	for at := 0; at < len(target); at += size {
		old := compareAndSwap(elementAt(target, at), size, load(compare[at:], size), load(operand[at:], size))
		if result != nil {
			store(result[at:], size, old)
		}
	}
	return nil
}

// MaskedSwap replaces the bits of each element that mask has by those of operand. result, if it is
// not nil, gets what the elements were. Errors are those of a Func; floating point is ErrLength.
func MaskedSwap(t Type, target, mask, operand, result []byte) error {
	size := t.Size()
	if t >= Float32 {
		return ErrLength
	}
	if err := checkVectors(size, target, operand, result); err != nil {
		return err
	}
	if len(mask) != len(target) || len(operand) != len(target) {
		return ErrLength
	}
	for at := 0; at < len(target); at += size {
		m := load(mask[at:], size)
		k := kernel{size: size, combine: func(old, operand uint64) uint64 { return old&^m | operand&m }}
		old := k.update(elementAt(target, at), load(operand[at:], size))
		if result != nil {
			store(result[at:], size, old)
		}
	}
	return nil
}

// kernel is an operation on one element. Numbers of all types are passed as their bits, so that one
// loop does for all.
type kernel struct {
	size     int
	combine  func(old, operand uint64) uint64
	native32 func(*uint32, uint32) uint32 // does the same by one instruction, or nil
	native64 func(*uint64, uint64) uint64
}

var table = makeTable()

func makeTable() (t [ops][types]Func) {
	for op := range ops {
		for kind := range types {
			combine := combinations[kind](op)
			if combine == nil {
				continue
			}
			k := kernel{size: kind.Size(), combine: combine}
			if kind < Float32 || op == Replace || op == NoOp {
				k.native32, k.native64 = native(op)
			}
			t[op][kind] = k.vector(op != NoOp)
		}
	}
	return t
}

// native returns the instructions that do the operation on integers of any sign.
func native(op Op) (func(*uint32, uint32) uint32, func(*uint64, uint64) uint64) {
	switch op {
	case Sum:
		return add32, add64
	case BAnd:
		return atomic.AndUint32, atomic.AndUint64
	case BOr:
		return atomic.OrUint32, atomic.OrUint64
	case Replace:
		return atomic.SwapUint32, atomic.SwapUint64
	case NoOp:
		return load32, load64
	default:
		return nil, nil
	}
}

func (k kernel) vector(needsOperand bool) Func {
	return func(target, operand, result []byte) error {
		if err := checkVectors(k.size, target, operand, result); err != nil {
			return err
		}
		if operand == nil && needsOperand && len(target) > 0 {
			return ErrLength
		}
		for at := 0; at < len(target); at += k.size {
			var v uint64
			if operand != nil {
				v = load(operand[at:], k.size)
			}
			old := k.update(elementAt(target, at), v)
			if result != nil {
				store(result[at:], k.size, old)
			}
		}
		return nil
	}
}

// update changes one element and returns what it was.
func (k kernel) update(e element, operand uint64) (old uint64) {
	switch k.size {
	case 4:
		return k.wide32(e, operand)
	case 8:
		return k.wide64(e, operand)
	default:
		return k.narrow(e, operand)
	}
}

// checkVectors checks lengths and the target's alignment.
func checkVectors(size int, target, operand, result []byte) error {
	if size == 0 || len(target)%size != 0 {
		return ErrLength
	}
	if operand != nil && len(operand) != len(target) || result != nil && len(result) != len(target) {
		return ErrLength
	}
	if len(target) > 0 && !aligned(target, size) {
		return ErrAlign
	}
	return nil
}

// load returns the bits of the first number.
func load(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	default:
		return binary.NativeEndian.Uint64(b)
	}
}

// store replaces the first number.
func store(b []byte, size int, bits uint64) {
	switch size {
	case 1:
		b[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(bits))
	default:
		binary.NativeEndian.PutUint64(b, bits)
	}
}
