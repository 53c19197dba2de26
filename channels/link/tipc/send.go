package tipc

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// sender holds the datagrams that are queued.
type sender struct {
	mmsg.Queue
	iov   [mmsg.Batch]unix.Iovec
	calls [mmsg.Batch]mmsg.Message
}

// Buffer implements link.Port.
func (p *Port) Buffer() []byte {
	if p.out.Full() {
		p.Flush()
	}
	return p.out.Buffer()
}

// Queue implements link.Port.
func (p *Port) Queue(to link.Address, n int) { p.out.Add(to, n) }

// Flush implements link.Port.
func (p *Port) Flush() {
	o := &p.out
	switch o.Count {
	case 0:
		return
	case 1:
		p.stats.Calls++
		p.sent(0, 1, mmsg.Send(p.fd, o.Data[0], o.To[0].Raw()))
	default:
		p.sendAll()
	}
	o.Reset()
}

// sendAll sends all that is queued, several datagrams by one call.
func (p *Port) sendAll() {
	o := &p.out
	for i := range o.Count {
		p.prepare(i)
	}
	for at := 0; at < o.Count; {
		p.stats.Calls++
		n, err := mmsg.SendAll(p.fd, o.calls[at:o.Count])
		switch {
		case n > 0:
			p.sent(at, at+n, 0)
			at += n
		case err == unix.EAGAIN || err == unix.ENOBUFS || err == unix.ENOMEM:
			p.sent(at, o.Count, err) // the rest would fare no better
			return
		default:
			p.sent(at, at+1, err)
			at++
		}
	}
}

// sent counts the results of the datagrams from one index to the other. A name that nobody has
// bound is an answer, not a loss.
func (p *Port) sent(from, to int, err unix.Errno) {
	if err == unix.EHOSTUNREACH && p.isName(from) {
		return
	}
	if err != 0 {
		p.stats.Dropped += uint64(to - from)
		return
	}
	p.stats.Sent += uint64(to - from)
	for _, d := range p.out.Data[from:to] {
		p.stats.SentBytes += uint64(len(d))
	}
}

func (p *Port) isName(i int) bool {
	_, _, ok := p.out.To[i].Name()
	return ok
}
