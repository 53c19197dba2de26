package main

/*
#include "score.h"
*/
import "C"

import (
	"context"
	"score/pm/ofi"
	"sync/atomic"
	"time"
	"unsafe"
)

//export score_cq_open
func score_cq_open(ring *C.score_entry, entries C.uint64_t, head, tail *C.uint64_t, more *C.uint32_t) C.int64_t {
	d := locked()
	defer d.Unlock()
	memory := unsafe.Slice((*ofi.Entry)(unsafe.Pointer(ring)), int(entries))
	c, err := d.CQIn(memory, (*uint64)(head), (*uint64)(tail), (*uint32)(more))
	if err != nil {
		return number(err)
	}
	return register(c)
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
	return register(d.CounterIn((*uint64)(value), (*uint64)(failed)))
}

//export score_progress
func score_progress() C.int64_t {
	d := locked()
	defer d.Unlock()
	return C.int64_t(d.Progress())
}

// score_wait waits until Progress may have something to do, or another thread does something. It
// compares the watched words under the lock: another thread, or the goroutine that makes progress,
// may have handled what the caller waits for after the caller read them, and nothing more comes.
//
//export score_wait
func score_wait(microseconds C.int64_t, w *C.score_watch) {
	d := locked()
	defer d.Unlock()
	for i, word := range w.word {
		if atomic.LoadUint64((*uint64)(word)) != uint64(w.seen[i]) {
			return
		}
	}
	ctx := context.Background()
	if microseconds >= 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(microseconds)*time.Microsecond)
		defer cancel()
		ctx = short
	}
	_ = d.Wait(ctx) // the caller looks for itself, also when the time is over
}

// score_nap sleeps for a reader of a queue that is empty.
//
//export score_nap
func score_nap(h, microseconds C.int64_t) {
	d := locked()
	defer d.Unlock()
	c, _ := object[*ofi.CQ](h)
	d.Nap(time.Duration(microseconds)*time.Microsecond, c)
}

//export score_crowded
func score_crowded() C.int64_t {
	d := locked()
	defer d.Unlock()
	if d.Crowded() {
		return 1
	}
	return 0
}
