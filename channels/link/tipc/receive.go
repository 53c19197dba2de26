package tipc

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// receiver holds the slots that datagrams are received into.
type receiver struct {
	size  mmsg.ReceiveSize
	data  [mmsg.Slots][]byte
	from  [mmsg.Slots][unix.SizeofSockaddrTIPC]byte
	iov   [mmsg.Slots]unix.Iovec
	calls [mmsg.Slots]mmsg.Message
}

// Receive implements link.Port.
func (p *Port) Receive(handle func(from link.Address, data []byte)) int {
	r := &p.in
	size := r.size.Next()
	r.ready(size)
	got := p.receiveCalls(size)
	if got == 0 {
		r.size.Missed()
		return 0
	}
	for i := range got {
		p.take(i, handle)
	}
	r.size.Took(got)
	return got // those that are for nobody count, too: a caller that loops stops at 0
}

// receiveCalls fills slots, and returns how many. For a process that polls it usually asks for one.
func (p *Port) receiveCalls(limit int) int {
	r := &p.in
	p.stats.Calls++
	if limit > 1 {
		return mmsg.ReceiveAll(p.fd, r.calls[:limit])
	}
	if !mmsg.Receive(p.fd, &r.calls[0], r.data[0], r.from[0][:]) {
		return 0
	}
	return 1
}

// ready prepares the first size slots.
func (r *receiver) ready(size int) {
	for i := size - 1; i >= 0 && r.data[i] == nil; i-- {
		r.data[i] = make([]byte, mmsg.SlotBytes)
		r.prepare(i)
	}
}

// take passes what came into a slot to the handler.
func (p *Port) take(i int, handle func(from link.Address, data []byte)) {
	data, from, whole := p.in.arrived(i)
	if !whole || from.None() || len(data) > link.MaxDatagram {
		p.stats.Truncated++
		return
	}
	p.stats.Received++
	p.stats.ReceivedBytes += uint64(len(data))
	handle(from, data)
}
