package main

/*
#include "include/score/pm.h"
#include "include/score/skifch.h"

// cgo has no word for const; these have it in their types.
typedef const void *score_pm_data;
typedef const score_pm_message *score_pm_given;
typedef const struct iovec *skifch_pieces;
*/
import "C"

import (
	"context"
	"errors"
	"score/pm"
	"score/pm/ofi"
	"score/pm/skifch"
	"sync"
	"time"
	"unsafe"
)

// handles is how many channels of PM and SkifCh a C program has open at most: one for each number.
const handles = pm.MaxChannel + 1

// pmChannel is a channel that a C program has opened, with the messages that it has not given back.
type pmChannel struct {
	ch   *pm.Channel
	out  []pm.Message
	free []int
}

// skifChannel is the same of SkifCh, whose messages are given back in order.
type skifChannel struct {
	ch     *skifch.Channel
	rank   int
	last   skifch.Message
	pieces [][]byte
}

// open has the channels by number, which is their handle.
var open struct {
	mu   sync.Mutex
	pm   [handles]*pmChannel
	skif [handles]*skifChannel
}

func errno(err error) C.int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, pm.ErrFull), errors.Is(err, pm.ErrEmpty), errors.Is(err, skifch.ErrAgain), errors.Is(err, context.DeadlineExceeded):
		return -11 // EAGAIN
	case errors.Is(err, pm.ErrTooLarge):
		return -90 // EMSGSIZE
	case errors.Is(err, pm.ErrChannel), errors.Is(err, pm.ErrNoBuffer), errors.Is(err, skifch.ErrNone), errors.Is(err, skifch.ErrAddress):
		return -22 // EINVAL
	default:
		return -C.int(ofi.Errno(err))
	}
}

func channelOf(h C.int) *pmChannel {
	if h < 0 || h >= handles {
		return nil
	}
	return open.pm[h]
}

//export score_pm_open
func score_pm_open(number C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	ch, err := pm.Open(int(number))
	if err != nil {
		return errno(err)
	}
	open.pm[number] = &pmChannel{ch: ch}
	return number
}

//export score_pm_close
func score_pm_close(h C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	open.pm[h] = nil
	return errno(c.ch.Close())
}

//export score_pm_rank
func score_pm_rank(h C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.ch.Rank())
}

//export score_pm_size
func score_pm_size(h C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.ch.Size())
}

//export score_pm_max_message
func score_pm_max_message(h C.int) C.size_t {
	c := channelOf(h)
	if c == nil {
		return 0
	}
	return C.size_t(c.ch.MaxMessage())
}

//export score_pm_same_node
func score_pm_same_node(h, rank C.int) C.int {
	c := channelOf(h)
	switch {
	case c == nil:
		return errno(pm.ErrChannel)
	case c.ch.SameNode(int(rank)):
		return 1
	}
	return 0
}

//export score_pm_send
func score_pm_send(h, rank C.int, data C.score_pm_data, length C.size_t) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return errno(c.ch.SendBytes(int(rank), memory(unsafe.Pointer(data), length)))
}

//export score_pm_get_send_buffer
func score_pm_get_send_buffer(h, rank C.int, length C.size_t, failed *C.int) unsafe.Pointer {
	c := channelOf(h)
	if c == nil {
		*failed = errno(pm.ErrChannel)
		return nil
	}
	buf, err := c.ch.GetSendBuffer(int(rank), int(length))
	if *failed = errno(err); err != nil {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(buf))
}

//export score_pm_commit
func score_pm_commit(h C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return errno(c.ch.Send())
}

//export score_pm_receive
func score_pm_receive(h C.int, to *C.score_pm_message) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	m, err := c.ch.Receive()
	if err != nil {
		return errno(err)
	}
	data, err := m.Bytes()
	if err != nil {
		_ = c.ch.ReleaseReceiveBuffer(m)
		return errno(err)
	}
	*to = C.score_pm_message{
		data: unsafe.Pointer(unsafe.SliceData(data)), length: C.size_t(len(data)), source: C.int(m.Source()), id: C.int(c.keep(m)),
	}
	return 0
}

func (c *pmChannel) keep(m pm.Message) int {
	if n := len(c.free); n > 0 {
		id := c.free[n-1]
		c.free = c.free[:n-1]
		c.out[id] = m
		return id
	}
	c.out = append(c.out, m)
	return len(c.out) - 1
}

//export score_pm_release
func score_pm_release(h C.int, m C.score_pm_given) C.int {
	c := channelOf(h)
	if c == nil || m.id < 0 || int(m.id) >= len(c.out) {
		return errno(pm.ErrChannel)
	}
	err := c.ch.ReleaseReceiveBuffer(c.out[m.id])
	if err == nil {
		c.out[m.id] = pm.Message{}
		c.free = append(c.free, int(m.id))
	}
	return errno(err)
}

//export score_pm_wait
func score_pm_wait(h, milliseconds C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	if c.ch.Poll() {
		return 0
	}
	ctx := context.Background()
	if milliseconds >= 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(milliseconds)*time.Millisecond)
		defer cancel()
		ctx = short
	}
	return errno(c.ch.Wait(ctx))
}

func skifOf(h C.int) *skifChannel {
	if h < 0 || h >= handles {
		return nil
	}
	return open.skif[h]
}

//export skifch_open
func skifch_open(number C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	ch, err := skifch.Open(int(number))
	if err != nil {
		return errno(err)
	}
	open.skif[number] = &skifChannel{ch: ch, rank: ch.Address().Rank}
	return number
}

//export skifch_close
func skifch_close(h C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	open.skif[h] = nil
	return errno(c.ch.Close())
}

//export skifch_rank
func skifch_rank(h C.int) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.rank)
}

//export skifch_size
func skifch_size(h C.int) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.ch.Size())
}

//export skifch_send
func skifch_send(h, rank C.int, pieces C.skifch_pieces, count C.int) C.ssize_t {
	c := skifOf(h)
	if c == nil || count < 0 {
		return C.ssize_t(errno(pm.ErrChannel))
	}
	c.pieces = c.pieces[:0]
	for _, v := range unsafe.Slice((*C.struct_iovec)(pieces), int(count)) {
		c.pieces = append(c.pieces, memory(v.iov_base, v.iov_len))
	}
	n, err := c.ch.Send(c.ch.To(int(rank)), c.pieces...)
	if err != nil {
		return C.ssize_t(errno(err))
	}
	return C.ssize_t(n)
}

//export skifch_recv
func skifch_recv(h C.int, to *C.skifch_message) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	m, err := c.ch.Recv()
	if err != nil {
		return errno(err)
	}
	c.last = m
	c.show(to)
	return 0
}

// show writes what has arrived of the message received last.
func (c *skifChannel) show(to *C.skifch_message) {
	*to = C.skifch_message{size: C.size_t(c.last.Size), source: C.int(c.last.From.Rank)}
	for i, p := range c.last.Pieces() {
		to.piece[i].iov_base = unsafe.Pointer(unsafe.SliceData(p))
		to.piece[i].iov_len = C.size_t(len(p))
		to.there += C.size_t(len(p))
		to.pieces++
	}
}

//export skifch_wait
func skifch_wait(h C.int, to *C.skifch_message, bytes C.size_t) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	err := c.last.WaitFor(int(bytes))
	if err == nil {
		c.show(to)
	}
	return errno(err)
}

//export skifch_recv_comp
func skifch_recv_comp(h C.int) C.int {
	c := skifOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return errno(c.ch.RecvComp())
}
