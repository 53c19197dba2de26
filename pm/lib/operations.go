package main

/*
#include "openmpi.h"
#include "score.h"
*/
import "C"

import (
	"score/pm/ofi"
	"unsafe"
)

func memory(p unsafe.Pointer, n C.uint64_t) []byte {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(p), int(n))
}

//export score_send
func score_send(ep C.int32_t, buf unsafe.Pointer, n, to, tag, data C.uint64_t, ctx C.uintptr_t, flags C.uint64_t) C.int64_t {
	d := locked()
	err := lib.eps[ep].Send(ofi.Send{
		Buffer: memory(buf, n), To: ofi.Address(to), Tag: uint64(tag), Data: uint64(data),
		Context: uintptr(ctx), Flags: ofi.Flags(flags),
	})
	d.Unlock()
	return number(err)
}

//export score_recv
func score_recv(ep C.int32_t, buf unsafe.Pointer, n, from, tag, ignore C.uint64_t, ctx C.uintptr_t, flags C.uint64_t) C.int64_t {
	r := ofi.Receive{
		Buffer: memory(buf, n), From: ofi.Address(from), Tag: uint64(tag), Ignore: uint64(ignore),
		Context: uintptr(ctx), Flags: ofi.Flags(flags),
	}
	d := locked()
	var err error
	if flags&C.PM_ANSWER != 0 {
		err = lib.eps[ep].ReceiveClaimed(r, ofi.Answer{Asks: C.OPENMPI_SYNC, Tells: C.OPENMPI_SYNC_ACK})
	} else {
		err = lib.eps[ep].Receive(r)
	}
	d.Unlock()
	return number(err)
}

// score_peek checks for a message; with progress it also polls the network. It returns SCORE_FOUND,
// SCORE_BUSY if something else came, 0, or an error.
//
//export score_peek
func score_peek(ep C.int32_t, from, tag, ignore C.uint64_t, ctx C.uintptr_t, flags C.uint64_t, progress C._Bool) C.int64_t {
	d := locked()
	p, err := lib.eps[ep].Peek(ofi.Receive{
		From: ofi.Address(from), Tag: uint64(tag), Ignore: uint64(ignore), Context: uintptr(ctx), Flags: ofi.Flags(flags),
	}, bool(progress))
	d.Unlock()
	switch {
	case p.Found:
		return C.SCORE_FOUND
	case p.Busy:
		return C.SCORE_BUSY
	}
	return number(err)
}

//export score_cancel
func score_cancel(ep C.int32_t, ctx C.uintptr_t) {
	d := locked()
	defer d.Unlock()
	lib.eps[ep].Cancel(uintptr(ctx))
}

//export score_rma
func score_rma(ep C.int32_t, read C.int32_t, buf unsafe.Pointer, n, to, offset, key, data C.uint64_t, ctx C.uintptr_t, flags C.uint64_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	t := ofi.Transfer{
		Buffer: memory(buf, n), To: ofi.Address(to), Key: uint64(key), Offset: uint64(offset), Data: uint64(data),
		Context: uintptr(ctx), Flags: ofi.Flags(flags),
	}
	if read != 0 {
		return number(lib.eps[ep].Read(t))
	}
	return number(lib.eps[ep].Write(t))
}
