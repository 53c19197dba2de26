// Package atomics changes numbers in memory that several processes share, by the processor's atomic
// instructions: the memory of a window (package mem), or any other.
//
// Lookup gives the reduction for an operation and a type, as MPI and libfabric have them: it
// applies a vector to the memory, element by element. Each element changes at once, a vector does
// not.
//
//	sum, ok := atomics.Lookup(atomics.Sum, atomics.Float64)
//	err := sum(window.Bytes()[offset:][:16], operand, previous) // two numbers
//
// All operations are sequentially consistent, as those of sync/atomic are, between all processes of
// the node. Two operations on one element must be of types of the same size: a processor promises
// nothing of atomic instructions that overlap in part. Elements of 8 and 16 bits are the exception.
// They are changed by compare-and-swap of the aligned 32-bit word around them, so they go together
// with operations on that word, and the bytes around them stay what they are. These bytes may lie
// outside of the slice, but always in the same page.
package atomics
