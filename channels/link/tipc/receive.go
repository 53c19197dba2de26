package tipc

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

const (
	// slots bounds the datagrams of one batch.
	slots = 8
	// fullRuns is how many calls in a row that found all they asked for make a stream.
	fullRuns = 2
)

// receiver is what receives.
type receiver struct {
	want  int // slots to be filled by the next call
	run   int // calls in a row that filled all slots they were to
	data  [slots][]byte
	from  [slots][unix.SizeofSockaddrTIPC]byte
	iov   [slots]unix.Iovec
	calls [slots]mmsg.Message
}

// Receive implements link.Port.
func (p *Port) Receive(handle func(from link.Address, data []byte)) int {
	r := &p.in
	if r.want == 0 {
		r.want = 1
		r.ready(0)
	}
	got := p.receiveCalls(r.want)
	if got == 0 {
		r.want, r.run = 1, 0
		return 0
	}
	count := 0
	for i := range got {
		count += p.take(i, handle)
	}
	r.adapt(got)
	return count
}

// receiveCalls fills slots, and says how many. A process that polls asks for one, over and over.
func (p *Port) receiveCalls(most int) int {
	r := &p.in
	p.stats.Calls++
	if most > 1 {
		return mmsg.ReceiveAll(p.fd, r.calls[:most])
	}
	if !mmsg.Receive(p.fd, &r.calls[0], r.data[0], r.from[0][:]) {
		return 0
	}
	return 1
}

// adapt makes the next batch larger if this one was full and so was the one before.
func (r *receiver) adapt(got int) {
	if got < r.want {
		r.run = 0
		return
	}
	if r.run++; r.run < fullRuns || r.want == slots {
		return
	}
	r.want *= 2
	for i := range r.want {
		if r.data[i] == nil {
			r.ready(i)
		}
	}
}

// ready makes a slot.
func (r *receiver) ready(i int) {
	r.data[i] = make([]byte, mmsg.SlotBytes)
	r.prepare(i)
}

// take hands on what came into a slot, and returns how many datagrams that were. What comes counts
// though it is for nobody: a caller that loops stops at 0.
func (p *Port) take(i int, handle func(from link.Address, data []byte)) int {
	data, from, whole := p.in.arrived(i)
	if !whole || from.None() || len(data) > link.MaxDatagram {
		p.stats.Truncated++
		return 1
	}
	p.stats.Received++
	p.stats.ReceivedBytes += uint64(len(data))
	handle(from, data)
	return 1
}
