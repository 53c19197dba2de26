package main

/*
#include "include/score/pm.h"
*/
import "C"

import (
	"context"
	"errors"
	"runtime"
	"score/pm"
	"score/pm/ofi"
	"score/pm/skifch"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// handles bounds the channels of PM and of SkifCh that a C program has open: one for each number.
const handles = pm.MaxChannel + 1

// pmChannel is a channel that a C program has opened, with the messages that it has not given back.
type pmChannel struct {
	ch     *pm.Channel
	out    []pm.Message
	free   []int
	buffer runtime.Pinner // a send buffer that the program fills: without a lane, it is Go's memory
}

// open holds the channels by number, which is their handle.
var open struct {
	mu   sync.Mutex
	pm   [handles]*pmChannel
	skif [handles]*skifChannel
}

// errnos are the errors of score/pm.h whose numbers are not those of libfabric's provider.
var errnos = []struct {
	err    error
	number syscall.Errno
}{
	{pm.ErrFull, syscall.EAGAIN},
	{pm.ErrEmpty, syscall.EAGAIN},
	{skifch.ErrAgain, syscall.EAGAIN},
	{context.DeadlineExceeded, syscall.EAGAIN},
	{pm.ErrTooLarge, syscall.EMSGSIZE},
	{pm.ErrChannel, syscall.EINVAL},
	{pm.ErrClosed, syscall.EINVAL},
	{pm.ErrNoBuffer, syscall.EINVAL},
	{skifch.ErrNone, syscall.EINVAL},
	{skifch.ErrAddress, syscall.EINVAL},
	{pm.ErrFault, syscall.EFAULT},
	{pm.ErrFlow, syscall.EPROTONOSUPPORT},
	{pm.ErrPlaces, syscall.EUSERS},
	{pm.ErrDamaged, syscall.EBADMSG},
}

// errno returns the number of an error as C programs get it.
func errno(err error) C.int {
	if err == nil {
		return 0
	}
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return -C.int(e.number)
		}
	}
	return -C.int(ofi.Errno(err))
}

// limit returns a context that ends after the given milliseconds, or never if they are negative.
func limit(milliseconds C.int) (context.Context, context.CancelFunc) {
	if milliseconds < 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), time.Duration(milliseconds)*time.Millisecond)
}

func channelOf(h C.int) *pmChannel {
	if h < 0 || h >= handles {
		return nil
	}
	return open.pm[h]
}

//export go_pm_open
func go_pm_open(number C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	ch, err := pm.Open(int(number))
	if err != nil {
		return errno(err)
	}
	open.pm[number] = &pmChannel{ch: ch}
	return number
}

//export go_pm_close
func go_pm_close(h C.int) C.int {
	open.mu.Lock()
	defer open.mu.Unlock()
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	open.pm[h] = nil
	c.buffer.Unpin()
	return errno(c.ch.Close())
}

//export go_pm_rank
func go_pm_rank(h C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.ch.Rank())
}

//export go_pm_size
func go_pm_size(h C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	return C.int(c.ch.Size())
}

//export go_pm_max_message
func go_pm_max_message(h C.int) C.size_t {
	c := channelOf(h)
	if c == nil {
		return 0
	}
	return C.size_t(c.ch.MaxMessage())
}

//export go_pm_same_node
func go_pm_same_node(h, rank C.int) C.int {
	c := channelOf(h)
	switch {
	case c == nil:
		return errno(pm.ErrChannel)
	case rank < 0 || int(rank) >= c.ch.Size():
		return errno(pm.ErrRank)
	case c.ch.SameNode(int(rank)):
		return 1
	}
	return 0
}

//export go_pm_send
func go_pm_send(h, rank C.int, data unsafe.Pointer, length C.size_t) C.int {
	c := channelOf(h)
	switch {
	case c == nil:
		return errno(pm.ErrChannel)
	case rank < 0 || int(rank) >= c.ch.Size():
		return errno(pm.ErrRank)
	case length > C.size_t(c.ch.MaxMessage()):
		return errno(pm.ErrTooLarge)
	}
	return errno(c.ch.SendBytes(int(rank), memory(data, length)))
}

//export go_pm_get_send_buffer
func go_pm_get_send_buffer(h, rank C.int, length C.size_t, failed *C.int) unsafe.Pointer {
	c := channelOf(h)
	if c == nil {
		*failed = errno(pm.ErrChannel)
		return nil
	}
	if length > C.size_t(c.ch.MaxMessage()) {
		*failed = errno(pm.ErrTooLarge)
		return nil
	}
	c.buffer.Unpin()
	buf, err := c.ch.GetSendBuffer(int(rank), int(length))
	if *failed = errno(err); err != nil || length == 0 {
		return nil
	}
	first := unsafe.SliceData(buf)
	c.buffer.Pin(first)
	return unsafe.Pointer(first)
}

//export go_pm_commit
func go_pm_commit(h C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	err := c.ch.Send()
	if err != pm.ErrFull { //nolint:errorlint // it is never wrapped
		c.buffer.Unpin()
	}
	return errno(err)
}

//export go_pm_room
func go_pm_room(h, rank C.int) C.ssize_t {
	c := channelOf(h)
	if c == nil {
		return C.ssize_t(errno(pm.ErrChannel))
	}
	room, err := c.ch.Room(int(rank))
	switch {
	case err != nil:
		return C.ssize_t(errno(err))
	case room < 0:
		return C.ssize_t(errno(pm.ErrFull))
	}
	return C.ssize_t(room)
}

//export go_pm_receive
func go_pm_receive(h C.int, to *C.score_pm_message) C.int {
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
		_ = c.ch.ReleaseReceiveBuffer(m) // the caller gets the first error
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

//export go_pm_release
func go_pm_release(h, id C.int) C.int {
	c := channelOf(h)
	if c == nil || id < 0 || int(id) >= len(c.out) {
		return errno(pm.ErrChannel)
	}
	err := c.ch.ReleaseReceiveBuffer(c.out[id])
	if err == nil {
		c.out[id] = pm.Message{}
		c.free = append(c.free, int(id))
	}
	return errno(err)
}

//export go_pm_poll
func go_pm_poll(h C.int) C.int {
	c := channelOf(h)
	switch {
	case c == nil:
		return errno(pm.ErrChannel)
	case c.ch.Poll():
		return 1
	}
	return 0
}

//export go_pm_wait
func go_pm_wait(h, milliseconds C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	if c.ch.Poll() {
		return 0
	}
	ctx, cancel := limit(milliseconds)
	defer cancel()
	return errno(c.ch.Wait(ctx))
}

//export go_pm_wait_space
func go_pm_wait_space(h, rank C.int, length C.size_t, milliseconds C.int) C.int {
	c := channelOf(h)
	if c == nil {
		return errno(pm.ErrChannel)
	}
	if length > C.size_t(c.ch.MaxMessage()) {
		return errno(pm.ErrTooLarge)
	}
	ctx, cancel := limit(milliseconds)
	defer cancel()
	return errno(c.ch.WaitSpace(ctx, int(rank), int(length)))
}
