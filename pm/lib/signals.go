package main

// #include <stdint.h>
import "C"

// handlerRoom is how much stack handlers of signals have at least that interrupt Go in a thread of
// the program. They may write with buffers on their stack, show where they were called from, and
// interrupt each other. Go's compiler moves larger variables than this to the heap.
const handlerRoom = 128 << 10

// score_grow_stack grows the stack of the goroutine that runs C's calls of this thread, on which
// handlers of signals run that were installed without SA_ONSTACK. The build switches off that Go's
// garbage collector shrinks stacks. The stack grows by as much as this function may need; with use
// 0 no byte of that is touched.
//
//export score_grow_stack
func score_grow_stack(use C.int) C.int {
	if use == 0 {
		return 0
	}
	var room [handlerRoom]C.int8_t
	return C.int(touch(&room, int(use)))
}

//go:noinline
func touch(room *[handlerRoom]C.int8_t, i int) C.int8_t {
	room[i%handlerRoom] = 1
	return room[(i+1)%handlerRoom]
}
