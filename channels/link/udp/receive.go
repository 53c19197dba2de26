package udp

import (
	"score/channels/link"

	"golang.org/x/sys/unix"
)

const (
	// slots bounds what one call receives. Each may be 64 datagrams that the kernel has joined.
	slots = 8
	// joinIdle is after how many calls in vain a stream has ended.
	joinIdle = 1024
	// slotBytes is the longest thing that comes, and then some, so that the slots' first bytes are
	// not all in the same set of a cache.
	slotBytes = 65536 + 9*lineBytes
)

// receiver is what receives.
type receiver struct {
	want  int  // slots to be filled by the next call
	lone  bool // the last call took one, and was not told whether it is joined
	data  [slots][]byte
	from  [slots][unix.SizeofSockaddrInet6]byte
	ctl   [slots]joined
	iov   [slots]unix.Iovec
	calls [slots]message
}

// Receive implements link.Port.
func (p *Port) Receive(handle func(from link.Address, data []byte)) int {
	r := &p.in
	if r.want == 0 {
		r.want = 1
		p.ready(0)
	}
	got := p.receiveCalls(r.want)
	count := 0
	for i := range got {
		count += p.take(i, handle)
	}
	p.adapt(got)
	return count
}

// adapt makes the next batch larger if this one was full. A single expected datagram is best
// received by a call for one.
func (p *Port) adapt(got int) {
	r := &p.in
	switch {
	case got == 0:
		r.want = 1
		if p.idle++; p.joins && p.idle >= joinIdle {
			p.setGRO(false)
		}
	case got == slots && p.gro && !p.joins:
		p.setGRO(true)
	case got == r.want && r.want < slots:
		r.want *= 2
		for i := range r.want {
			if r.data[i] == nil {
				p.ready(i)
			}
		}
	}
}

// ready makes a slot.
func (p *Port) ready(i int) {
	r := &p.in
	r.data[i] = make([]byte, slotBytes)
	p.in.prepare(i)
}

// take hands on what came into a slot, and returns how many datagrams that were.
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
