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
#cgo LDFLAGS: -Wl,--wrap=pthread_create -Wl,--wrap=pthread_getattr_np
#include "score.h"
*/
import "C"

import (
	"fmt"
	"os"
	"score/pm"
	"score/pm/ofi"
	"score/pm/tag"
	"sync"
)

func main() {}

// channel is the PM channel that the library takes.
const channel = 1

// lib is the one domain of the process, which all domains of the program share, and the objects
// that C names by number. It stays open when the program closes its last one, since the program may
// open others: MPI has sessions, and peers take a rank that closed its channel for one that left.
var lib struct {
	mu      sync.Mutex
	d       *ofi.Domain
	users   int
	eps     [tag.Ports]*ofi.Endpoint // by port
	objects []any
	free    []int
}

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
	if lib.users == 0 {
		lib.d.StopProgress() // which score_domain_close began
	}
	if automatic != 0 {
		lib.d.StartProgress()
	}
	lib.users++
	return 0
}

// score_domain_close leaves the channel to a goroutine when the program closes its last domain:
// what peers still send to its endpoints is dropped, and their operations on its memory fail.
//
//export score_domain_close
func score_domain_close() {
	lib.mu.Lock()
	defer lib.mu.Unlock()
	if lib.users--; lib.users == 0 {
		lib.d.StartProgress()
	}
}

// score_leave tells peers at the end of the program that it has left. A program that ends with a
// domain open may be within a call, so nobody is told.
//
//export score_leave
func score_leave() {
	if !lib.mu.TryLock() {
		return
	}
	defer lib.mu.Unlock()
	if lib.d == nil || lib.users > 0 {
		return
	}
	_ = lib.d.Close()
	lib.d = nil
}

// locked returns the locked domain, which the caller unlocks.
func locked() *ofi.Domain {
	lib.d.Lock()
	return lib.d
}
