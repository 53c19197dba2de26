package main

/*
#include "score.h"
*/
import "C"

import (
	"score/pm/ofi"
	"unsafe"
)

//export score_av_open
func score_av_open() C.int64_t {
	d := locked()
	defer d.Unlock()
	return register(d.AV())
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
