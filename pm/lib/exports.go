// Package main is the shared library through which C, C++ and Fortran programs use the messaging
// stack: a provider of libfabric. The libraries in shim, without Go, load it for ranks that use it;
// DESIGN.md says why. The objects that programs see are C's; each call that moves data leads to
// package ofi.
//
// Completion queues and counters lie in C memory. Go fills them, C empties them, so a program that
// finds a completion does not enter Go for it.
package main

/*
#cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter
#include "score.h"
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"score/pm"
	"score/pm/mem/atomics"
	"score/pm/ofi"
	"score/pm/uct"
	"sync"
	"time"
	"unsafe"
)

func main() {}

// channel is the PM channel that the library takes.
const channel = 1

// lib is the one domain of the process, which all domains of the program share, and the objects
// that C names by number.
var lib struct {
	mu      sync.Mutex
	d       *ofi.Domain
	users   int
	eps     [256]*ofi.Endpoint
	objects []any
	free    []int
}

func keep(object any) C.int64_t {
	if n := len(lib.free); n > 0 {
		h := lib.free[n-1]
		lib.free = lib.free[:n-1]
		lib.objects[h] = object
		return C.int64_t(h)
	}
	lib.objects = append(lib.objects, object)
	return C.int64_t(len(lib.objects) - 1)
}

func object[T any](h C.int64_t) (o T, ok bool) {
	if h < 0 || int(h) >= len(lib.objects) {
		return o, false
	}
	o, ok = lib.objects[h].(T)
	return o, ok
}

func forget(h C.int64_t) {
	lib.objects[h] = nil
	lib.free = append(lib.free, int(h))
}

func number(err error) C.int64_t { return -C.int64_t(ofi.Errno(err)) }

//export score_domain_open
func score_domain_open(automatic C.int32_t) C.int64_t {
	lib.mu.Lock()
	defer lib.mu.Unlock()
	if lib.d == nil {
		ch, err := pm.Open(channel)
		if err != nil { // the program shows a number at best
			fmt.Fprintf(os.Stderr, "score: no channel for this process: %v\n", err)
			return number(err)
		}
		lib.d = ofi.Open(ch)
	}
	if automatic != 0 {
		lib.d.StartProgress()
	}
	lib.users++
	return 0
}

//export score_domain_close
func score_domain_close() {
	lib.mu.Lock()
	defer lib.mu.Unlock()
	if lib.users--; lib.users > 0 {
		return
	}
	_ = lib.d.Close()
	lib.d = nil
}

// locked is the domain, which the caller unlocks.
func locked() *ofi.Domain {
	lib.d.Lock()
	return lib.d
}

//export score_progress
func score_progress() C.int64_t {
	d := locked()
	defer d.Unlock()
	return C.int64_t(d.Progress())
}

//export score_wait
func score_wait(microseconds C.int64_t) {
	d := locked()
	defer d.Unlock()
	ctx := context.Background()
	if microseconds >= 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(microseconds)*time.Microsecond)
		defer cancel()
		ctx = short
	}
	_ = d.Wait(ctx)
}

//export score_nap
func score_nap(microseconds C.int64_t) {
	d := locked()
	defer d.Unlock()
	d.Nap(time.Duration(microseconds) * time.Microsecond)
}

//export score_cq_open
func score_cq_open(ring *C.score_entry, entries C.uint64_t, head, tail *C.uint64_t, more *C.uint32_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	memory := unsafe.Slice((*ofi.Entry)(unsafe.Pointer(ring)), int(entries))
	c, err := d.CQIn(memory, (*uint64)(head), (*uint64)(tail), (*uint32)(more))
	if err != nil {
		return number(err)
	}
	return keep(c)
}

//export score_cq_close
func score_cq_close(h C.int64_t) {
	d := locked()
	defer d.Unlock()
	if c, ok := object[*ofi.CQ](h); ok {
		d.CloseCQ(c)
		forget(h)
	}
}

//export score_counter_open
func score_counter_open(value, failed *C.uint64_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	return keep(d.CounterIn((*uint64)(value), (*uint64)(failed)))
}

//export score_object_close
func score_object_close(h C.int64_t) {
	d := locked()
	defer d.Unlock()
	if c, ok := object[*ofi.Counter](h); ok {
		c.Close() // its memory goes, and operations may still be under way
	}
	forget(h)
}

//export score_av_open
func score_av_open() C.int64_t {
	d := locked()
	defer d.Unlock()
	return keep(d.AV())
}

//export score_av_insert
func score_av_insert(h C.int64_t, name unsafe.Pointer, address *C.uint64_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	v, _ := object[*ofi.AV](h)
	a, err := v.Insert(unsafe.Slice((*byte)(name), ofi.NameBytes))
	*address = C.uint64_t(a)
	return number(err)
}

//export score_av_remove
func score_av_remove(h C.int64_t, address C.uint64_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	v, _ := object[*ofi.AV](h)
	return number(v.Remove(ofi.Address(address)))
}

//export score_av_name
func score_av_name(h C.int64_t, address C.uint64_t, name unsafe.Pointer) C.int64_t {
	d := locked()
	defer d.Unlock()
	v, _ := object[*ofi.AV](h)
	b, err := v.Name(ofi.Address(address))
	copy(unsafe.Slice((*byte)(name), ofi.NameBytes), b[:])
	return number(err)
}

//export score_ep_open
func score_ep_open() C.int64_t {
	d := locked()
	defer d.Unlock()
	e, err := d.Endpoint(ofi.EndpointOptions{})
	if err != nil {
		return number(err)
	}
	lib.eps[e.Port()] = e
	return C.int64_t(e.Port())
}

//export score_ep_close
func score_ep_close(ep C.int32_t) {
	d := locked()
	defer d.Unlock()
	_ = lib.eps[ep].Close()
	lib.eps[ep] = nil
}

//export score_ep_name
func score_ep_name(ep C.int32_t, name unsafe.Pointer) {
	d := locked()
	defer d.Unlock()
	b := lib.eps[ep].Name()
	copy(unsafe.Slice((*byte)(name), ofi.NameBytes), b[:])
}

//export score_ep_min_multi
func score_ep_min_multi(ep C.int32_t, bytes C.uint64_t) {
	d := locked()
	defer d.Unlock()
	lib.eps[ep].Bind(func(o *ofi.EndpointOptions) { o.MinMultiReceive = int(bytes) })
}

//export score_ep_bind_av
func score_ep_bind_av(ep C.int32_t, h C.int64_t) {
	d := locked()
	defer d.Unlock()
	lib.eps[ep].Bind(func(o *ofi.EndpointOptions) { o.AV, _ = object[*ofi.AV](h) })
}

//export score_ep_bind_cq
func score_ep_bind_cq(ep C.int32_t, h C.int64_t, transmit, receive, selective C.int32_t) {
	d := locked()
	defer d.Unlock()
	c, _ := object[*ofi.CQ](h)
	lib.eps[ep].Bind(func(o *ofi.EndpointOptions) {
		if transmit != 0 {
			o.Transmit, o.SelectiveTransmit = c, selective != 0
		}
		if receive != 0 {
			o.Receive, o.SelectiveReceive = c, selective != 0
		}
	})
}

//export score_ep_bind_counter
func score_ep_bind_counter(ep C.int32_t, h C.int64_t, flags C.uint64_t) {
	d := locked()
	defer d.Unlock()
	c, _ := object[*ofi.Counter](h)
	f := ofi.Flags(flags)
	lib.eps[ep].Bind(func(o *ofi.EndpointOptions) {
		for flag, counter := range map[ofi.Flags]**ofi.Counter{
			ofi.Sent: &o.Sends, ofi.Received: &o.Receives, ofi.Write: &o.Writes, ofi.Read: &o.Reads,
			ofi.RemoteRead: &o.RemoteReads, ofi.RemoteWrite: &o.RemoteWrites,
		} {
			if f&flag != 0 {
				*counter = c
			}
		}
	})
}

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
	d := locked()
	err := lib.eps[ep].Receive(ofi.Receive{
		Buffer: memory(buf, n), From: ofi.Address(from), Tag: uint64(tag), Ignore: uint64(ignore),
		Context: uintptr(ctx), Flags: ofi.Flags(flags),
	})
	d.Unlock()
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

// score_atomic_count returns how many elements one operation may have; 0: there is no such operation.
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

//export score_mr_reg
func score_mr_reg(buf unsafe.Pointer, n, access C.uint64_t, hasKey C.int32_t, key *C.uint64_t, base C.uint64_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	r, err := d.Register(memory(buf, n), ofi.MROptions{
		Access: uct.Access(access), Key: uint64(*key), HasKey: hasKey != 0, Base: uint64(base),
	})
	if err != nil {
		return number(err)
	}
	*key = C.uint64_t(r.Key())
	return keep(&region{Region: r})
}

// region is registered memory with the counters of peers' operations on it.
type region struct {
	*uct.Region
	reads, writes *ofi.Counter
}

//export score_mr_watch
func score_mr_watch(h, counter C.int64_t, flags C.uint64_t) {
	d := locked()
	defer d.Unlock()
	r, _ := object[*region](h)
	c, _ := object[*ofi.Counter](counter)
	f := ofi.Flags(flags)
	either := f&(ofi.RemoteRead|ofi.RemoteWrite) == 0
	if either || f&ofi.RemoteRead != 0 {
		r.reads = c
	}
	if either || f&ofi.RemoteWrite != 0 {
		r.writes = c
	}
	d.Watch(r.Region, r.reads, r.writes)
}

//export score_mr_close
func score_mr_close(h C.int64_t) {
	d := locked()
	defer d.Unlock()
	if r, ok := object[*region](h); ok {
		_ = r.Close()
		forget(h)
	}
}

const (
	// idleReads is how many reads of a queue find nothing before a reader sleeps: ten milliseconds of
	// them, so that a program that computes with its neighbours in step never does.
	idleReads = 1 << 16
	// crowdedReads is the same where the node's ranks share CPUs: what falling asleep and waking cost.
	crowdedReads = 1 << 6
)

//export score_idle_reads
func score_idle_reads() C.int64_t {
	d := locked()
	defer d.Unlock()
	if d.Crowded() {
		return crowdedReads
	}
	return idleReads
}
