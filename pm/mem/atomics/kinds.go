package atomics

import "fmt"

// Op is an operation on a number in memory and an operand.
type Op uint8

// The operations of MPI's reductions. Logical ones make the number 1 or 0; every number but zero is
// true.
const (
	Sum     Op = iota // wraps around for integers
	Prod              // wraps around for integers
	Min               // NaN if one of both is
	Max               // NaN if one of both is
	LAnd              // logical and
	LOr               // logical or
	LXor              // logical exclusive or
	BAnd              // bitwise and; not for floating point, like the next two
	BOr               // bitwise or
	BXor              // bitwise exclusive or
	Replace           // the operand
	NoOp              // the number stays; reads it
	ops
)

// Type is the type of a number.
type Type uint8

// The types of numbers.
const (
	Int8 Type = iota
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	types
)

var opNames = [ops]string{"sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor", "replace", "no-op"}

var typeNames = [types]string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}

var typeSizes = [types]int{1, 2, 4, 8, 1, 2, 4, 8, 4, 8}

// String returns the operation's name.
func (o Op) String() string {
	if o >= ops {
		return fmt.Sprintf("operation %d", uint8(o))
	}
	return opNames[o]
}

// String returns the type's name in Go.
func (t Type) String() string {
	if t >= types {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return typeNames[t]
}

// Size returns the bytes of a number, 0 for what is no type.
func (t Type) Size() int {
	if t >= types {
		return 0
	}
	return typeSizes[t]
}
