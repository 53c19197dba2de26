package atomics

import "math"

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type number interface {
	integer | float32 | float64
}

// combination is an operation on the bits of two numbers.
type combination func(old, operand uint64) uint64

// combinations has a column of the table for each type.
var combinations = [types]func(Op) combination{
	Int8:    integers[int8],
	Int16:   integers[int16],
	Int32:   integers[int32],
	Int64:   integers[int64],
	Uint8:   integers[uint8],
	Uint16:  integers[uint16],
	Uint32:  integers[uint32],
	Uint64:  integers[uint64],
	Float32: func(op Op) combination { return onBits(numbers[float32](op), float32Of, bitsOf32) },
	Float64: func(op Op) combination { return onBits(numbers[float64](op), math.Float64frombits, math.Float64bits) },
}

func float32Of(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }
func bitsOf32(v float32) uint64     { return uint64(math.Float32bits(v)) }

// onBits makes an operation on numbers one on their bits; nil stays nil.
func onBits[T number](op func(a, b T) T, from func(uint64) T, to func(T) uint64) combination {
	if op == nil {
		return nil
	}
	return func(old, operand uint64) uint64 { return to(op(from(old), from(operand))) }
}

func integers[T integer](op Op) combination {
	from := func(bits uint64) T { return T(bits) }
	to := func(v T) uint64 { return uint64(v) }
	switch op {
	case BAnd:
		return onBits(func(a, b T) T { return a & b }, from, to)
	case BOr:
		return onBits(func(a, b T) T { return a | b }, from, to)
	case BXor:
		return onBits(func(a, b T) T { return a ^ b }, from, to)
	default:
		return onBits(numbers[T](op), from, to)
	}
}

// numbers returns an operation that integers and floating point have, nil for another.
func numbers[T number](op Op) func(a, b T) T {
	switch op {
	case Sum:
		return func(a, b T) T { return a + b }
	case Prod:
		return func(a, b T) T { return a * b }
	case Min:
		return func(a, b T) T { return min(a, b) }
	case Max:
		return func(a, b T) T { return max(a, b) }
	case LAnd:
		return func(a, b T) T { return truth[T](a != 0 && b != 0) }
	case LOr:
		return func(a, b T) T { return truth[T](a != 0 || b != 0) }
	case LXor:
		return func(a, b T) T { return truth[T]((a != 0) != (b != 0)) }
	case Replace:
		return func(_, b T) T { return b }
	case NoOp:
		return func(a, _ T) T { return a }
	default:
		return nil
	}
}

func truth[T number](is bool) T {
	if is {
		return 1
	}
	return 0
}
