package main

/*
#include "score.h"
*/
import "C"

import "score/pm/ofi"

func register(object any) C.int64_t {
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

//export score_object_close
func score_object_close(h C.int64_t) {
	d := locked()
	defer d.Unlock()
	if c, ok := object[*ofi.Counter](h); ok {
		c.Close() // its memory is freed, and operations may still be under way
	}
	forget(h)
}
