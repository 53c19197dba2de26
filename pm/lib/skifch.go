package main

/*
#include "include/score/skifch.h"
*/
import "C"

import (
	"score/pm"
	"score/pm/skifch"
	"unsafe"
)

// skifChannel is a channel of SkifCh, whose messages are given back in order.
type skifChannel struct {
	ch         *skifch.Channel
	rank       int
	maxMessage int            // bytes of a message
	last       skifch.Message // received last; valid while kept is not 0
	kept       int            // messages received and not completed
	pieces     [][]byte       // of the message that is being sent
}

func skifOf(h C.int) *skifChannel {
	if h < 0 || h >= handles {
		return nil
	}
	return open.skif[h]
}

//export go_skifch_open
func go_skifch_open(number C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	ch, err := pm.Open(int(number))
	if err != nil {
		return errno(err)
	}
	open.skif[number] = &skifChannel{ch: skifch.New(ch), rank: ch.Rank(), maxMessage: ch.MaxMessage()}
	return number
}

//export go_skifch_close
func go_skifch_close(h C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	open.skif[h] = nil
	return errno(c.ch.Close())
}

//export go_skifch_rank
func go_skifch_rank(h C.int) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.rank)
}

//export go_skifch_size
func go_skifch_size(h C.int) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.ch.Size())
}

//export go_skifch_send
func go_skifch_send(h, rank C.int, pieces *C.struct_iovec, count C.int) C.ssize_t {
	c := skifOf(h)
	if c == nil {
		return C.ssize_t(errno(pm.ErrChannel))
	}
	c.pieces = c.pieces[:0]
	for _, v := range unsafe.Slice(pieces, int(count)) {
		n := min(v.iov_len, C.size_t(c.maxMessage)) // more does not go at once
		c.pieces = append(c.pieces, memory(v.iov_base, n))
		if n < v.iov_len {
			break
		}
	}
	n, err := c.ch.Send(c.ch.To(int(rank)), c.pieces...)
	clear(c.pieces)
	if err != nil {
		return C.ssize_t(errno(err))
	}
	return C.ssize_t(n)
}

//export go_skifch_recv
func go_skifch_recv(h C.int, to *C.skifch_message) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	m, err := c.ch.Recv()
	if err != nil {
		return errno(err)
	}
	c.last = m
	c.kept++
	c.show(to)
	return 0
}

// show writes to C what has arrived of the message received last.
func (c *skifChannel) show(to *C.skifch_message) {
	*to = C.skifch_message{size: C.size_t(c.last.Size), source: C.int(c.last.From.Rank)}
	for i, p := range c.last.Pieces() {
		to.piece[i].iov_base = unsafe.Pointer(unsafe.SliceData(p))
		to.piece[i].iov_len = C.size_t(len(p))
		to.there += C.size_t(len(p))
		to.pieces++
	}
}

//export go_skifch_wait
func go_skifch_wait(h C.int, to *C.skifch_message, bytes C.size_t) C.int {
	c := skifOf(h)
	switch {
	case c == nil:
		return errno(pm.ErrChannel)
	case c.kept == 0:
		return errno(skifch.ErrNone)
	case bytes > C.size_t(c.last.Size):
		return errno(pm.ErrTooLarge)
	}
	err := c.last.WaitFor(int(bytes))
	if err == nil {
		c.show(to)
	}
	return errno(err)
}

//export go_skifch_recv_comp
func go_skifch_recv_comp(h C.int) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	if c.kept == 0 {
		return errno(skifch.ErrNone)
	}
	c.kept--
	return errno(c.ch.RecvComp())
}
