package udp

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

const (
	// slots bounds what one call receives. Each may be 64 datagrams that the kernel has joined.
	slots = 8
	// fullRuns is how many full calls in a row make a stream.
	fullRuns = 2
	// joinIdle is after how many calls in vain a stream has ended.
	joinIdle = 1024
)

// receiver is what receives.
type receiver struct {
	want  int  // slots to be filled by the next call
	run   int  // calls in a row that filled all slots they were to
	lone  bool // the last call took one, and was not told whether it is joined
	data  [slots][]byte
	from  [slots][unix.SizeofSockaddrInet6]byte
	ctl   [slots]joined
	iov   [slots]unix.Iovec
	calls [slots]mmsg.Message
}

// Receive implements link.Port.
func (p *Port) Receive(handle func(from link.Address, data []byte)) int {
	r := &p.in
	if r.want == 0 {
		r.want = 1
		p.ready(0)
	}
	got := p.receiveCalls(r.want)
	if got == 0 {
		p.missed()
		return 0
	}
	count := 0
	for i := range got {
		count += p.take(i, handle)
	}
	p.adapt(got)
	return count
}

// receiveCalls fills slots, and says how many. A process that polls asks for one, over and over: that
// call does not tell of joined datagrams, their own lengths do.
func (p *Port) receiveCalls(most int) int {
	r := &p.in
	p.stats.Calls++
	if r.lone = most == 1; !r.lone {
		return mmsg.ReceiveAll(p.fd, r.calls[:most])
	}
	if !mmsg.Receive(p.fd, &r.calls[0], r.data[0], r.from[0][:]) {
		return 0
	}
	return 1
}

// missed is called when nothing was there: the next one is expected to come alone.
func (p *Port) missed() {
	p.in.want, p.in.run = 1, 0
	if p.idle++; p.joins && p.idle >= joinIdle {
		p.setGRO(false)
	}
}

// adapt makes the next batch larger if this one was full and so was the one before: the first after
// a wait may be the only one, and is best received by a call for one.
func (p *Port) adapt(got int) {
	r := &p.in
	if got < r.want {
		r.run = 0
		return
	}
	r.run++
	switch {
	case got == slots && p.gro && !p.joins:
		p.setGRO(true)
	case r.run >= fullRuns && r.want < slots:
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
	r.data[i] = make([]byte, mmsg.SlotBytes)
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
