package main

/*
#include "score.h"
*/
import "C"

import (
	"score/pm/mem/atomics"
	"score/pm/ofi"
	"score/pm/uct"
)

//export score_atomic
func score_atomic(ep C.int32_t, a *C.score_atomic_args) C.int64_t {
	kind, ok := atomicKind(int(a.op), int(a.datatype))
	if !ok {
		return number(uct.ErrOperation)
	}
	n := a.count * C.uint64_t(kind.Type.Size())
	d := locked()
	defer d.Unlock()
	return number(lib.eps[ep].Atomic(ofi.AtomicTransfer{
		Transfer: ofi.Transfer{
			Buffer: memory(a.buf, n), To: ofi.Address(a.to), Key: uint64(a.key), Offset: uint64(a.offset),
			Context: uintptr(a.context), Flags: ofi.Flags(a.flags),
		},
		Kind: kind, Compare: memory(a.compare, n), Result: memory(a.result, n),
	}))
}

// score_atomic_count returns how many elements one operation may have; 0 if there is no such
// operation.
//
//export score_atomic_count
func score_atomic_count(op, datatype C.int32_t) C.uint64_t {
	kind, ok := atomicKind(int(op), int(datatype))
	if !ok {
		return 0
	}
	return C.uint64_t(uct.MaxAtomicBytes / 2 / kind.Type.Size())
}

// types and operations of libfabric, by number
var (
	atomicTypes = []atomics.Type{
		atomics.Int8, atomics.Uint8, atomics.Int16, atomics.Uint16, atomics.Int32, atomics.Uint32, atomics.Int64, atomics.Uint64,
		atomics.Float32, atomics.Float64,
	}
	atomicOps = []atomics.Op{
		atomics.Min, atomics.Max, atomics.Sum, atomics.Prod, atomics.LOr, atomics.LAnd, atomics.BOr, atomics.BAnd,
		atomics.LXor, atomics.BXor, atomics.NoOp, atomics.Replace,
	}
)

const (
	compareSwap = 12 // FI_CSWAP
	maskedSwap  = 18 // FI_MSWAP
)

func atomicKind(op, datatype int) (uct.AtomicKind, bool) {
	if datatype < 0 || datatype >= len(atomicTypes) {
		return uct.AtomicKind{}, false
	}
	k := uct.AtomicKind{Type: atomicTypes[datatype], Swap: op == compareSwap || op == maskedSwap, Masked: op == maskedSwap}
	if !k.Swap {
		if op < 0 || op >= len(atomicOps) {
			return k, false
		}
		k.Op = atomicOps[op]
	}
	return k, k.Valid()
}
