package udp

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// joinIdle is the number of calls without a datagram after which a stream counts as ended.
const joinIdle = 1024

// receiver holds the slots that datagrams are received into. A slot may hold 64 datagrams that the
// kernel has joined.
type receiver struct {
	size  mmsg.ReceiveSize
	lone  bool // the last call took one, and was not told whether it is joined
	data  [mmsg.Slots][]byte
	from  [mmsg.Slots][unix.SizeofSockaddrInet6]byte
	ctl   [mmsg.Slots]joined
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
		p.onEmpty()
		return 0
	}
	count := 0
	for i := range got {
		count += p.take(i, handle)
	}
	r.size.Took(got)
	if got == mmsg.Slots && p.gro && !p.joins {
		p.setGRO(true)
	}
	return count
}

// receiveCalls fills slots, and returns how many. For a process that polls it usually asks for one:
// that call does not report joined datagrams, which are told apart by the lengths in their headers.
func (p *Port) receiveCalls(limit int) int {
	r := &p.in
	p.stats.Calls++
	if r.lone = limit == 1; !r.lone {
		return mmsg.ReceiveAll(p.fd, r.calls[:limit])
	}
	if !mmsg.Receive(p.fd, &r.calls[0], r.data[0], r.from[0][:]) {
		return 0
	}
	return 1
}

// onEmpty is called when nothing was there.
func (p *Port) onEmpty() {
	p.in.size.Missed()
	if p.idle++; p.joins && p.idle >= joinIdle {
		p.setGRO(false)
	}
}

// ready prepares the first size slots.
func (r *receiver) ready(size int) {
	for i := size - 1; i >= 0 && r.data[i] == nil; i-- {
		r.data[i] = make([]byte, mmsg.SlotBytes)
		r.prepare(i)
	}
}

// take passes what came into a slot to the handler, and returns the number of datagrams.
func (p *Port) take(i int, handle func(from link.Address, data []byte)) (count int) {
	data, from, segment, whole := p.in.arrived(i)
	if !whole || from.None() {
		p.stats.Truncated++
		return 0
	}
	if segment <= 0 || segment > len(data) {
		segment = len(data)
	}
	for {
		n := min(segment, len(data))
		if p.in.lone {
			n = link.Length(data)
		}
		p.stats.Received++
		p.stats.ReceivedBytes += uint64(n)
		handle(from, data[:n:n])
		count++
		data = data[n:]
		if len(data) == 0 {
			return count
		}
	}
}
