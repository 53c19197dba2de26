package main

/*
#include "score.h"
*/
import "C"

import (
	"math"
	"score/pm/ofi"
	"score/pm/uct"
	"unsafe"
)

//export score_mr_reg
func score_mr_reg(buf unsafe.Pointer, n, access C.uint64_t, hasKey C.int32_t, key *C.uint64_t, base C.uint64_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	r, err := d.Register(memory(buf, n), ofi.MROptions{
		Access: uct.Access(access), Key: uint64(*key), HasKey: hasKey != 0, Base: uint64(base),
		All: buf == nil && n == math.MaxUint64,
	})
	if err != nil {
		return number(err)
	}
	*key = C.uint64_t(r.Key())
	return register(&region{Region: r})
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
