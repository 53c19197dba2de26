package udp

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// maxSegmented bounds the bytes of one call that the kernel cuts into segments: an IPv6 packet.
const maxSegmented = 65535 - headers6

// sender holds the datagrams that are queued.
type sender struct {
	mmsg.Queue
	conn  int                        // how many of them may go through the connected socket
	iov   [2 * mmsg.Batch]unix.Iovec // of each datagram its two parts, the second one if it has a tail
	calls [mmsg.Batch]mmsg.Message
	first [mmsg.Batch + 1]int // of each call: index of its first datagram
	sizes [mmsg.Batch]control
	lone  unix.Msghdr   // of a datagram with a tail that goes by itself
	parts [2]unix.Iovec // of it
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

// Borrow implements link.Borrower.
func (p *Port) Borrow(data []byte) { p.out.Borrow(data) }

// Guarded implements link.Guarded: UDP has a checksum over all bytes.
func (p *Port) Guarded() bool { return true }

// Flush implements link.Port.
func (p *Port) Flush() {
	o := &p.out
	conn := o.conn == o.Count
	switch {
	case o.Count == 0:
		return
	case o.Count > 1:
		p.sendAll(p.plan(conn), conn)
	case conn && p.sendTo(p.conn.fd, 0, nil) == 0:
		p.sent(0, 1, 0)
	default:
		p.sendOne(0)
	}
	if o.Borrows() {
		clear(o.iov[:2*o.Count]) // no pointers to others' memory
	}
	o.Reset()
	o.conn = 0
}

// sendOne sends the datagram with the index by itself.
func (p *Port) sendOne(i int) {
	o := &p.out
	err := p.sendTo(p.fd, i, o.To[i].Raw())
	if err == unix.EMSGSIZE {
		err = p.sendLong(i)
	}
	p.sent(i, i+1, err)
}

// sendTo sends the datagram with the index to a socket address, or to the peer of a socket that has
// one.
func (p *Port) sendTo(fd, i int, to []byte) unix.Errno {
	p.stats.Calls++
	if len(p.out.Tail[i]) > 0 {
		return p.sendParts(fd, i, to)
	}
	return mmsg.Send(fd, p.out.Data[i], to)
}

// sendLong sends a datagram that is longer than the path takes in fragments: frames that were cut
// for a wider path must get there, too.
func (p *Port) sendLong(i int) unix.Errno {
	o := &p.out
	if n := o.Bytes(i); n <= p.Size(o.To[i]) {
		p.onTooLarge(o.To[i], n)
	}
	p.allowFragments(p.fd)
	err := p.sendTo(p.fd, i, o.To[i].Raw())
	p.stopFragments(p.fd)
	p.stats.Fragmented++
	return err
}

// sent counts the results of the datagrams from one index to the other.
func (p *Port) sent(from, to int, err unix.Errno) {
	if err != 0 {
		p.stats.Dropped += uint64(to - from)
		return
	}
	p.stats.Sent += uint64(to - from)
	for i := from; i < to; i++ {
		p.stats.SentBytes += uint64(p.out.Bytes(i))
	}
}

// plan groups the datagrams into calls and returns their number: a run of equal length to one
// address is one call. With conn they go through the connected socket.
func (p *Port) plan(conn bool) (calls int) {
	o := &p.out
	for i := 0; i < o.Count; calls++ {
		end := i + 1
		if p.gso {
			end = p.run(i)
		}
		o.first[calls] = i
		p.prepare(calls, i, end, conn)
		i = end
	}
	o.first[calls] = o.Count
	return calls
}

// run returns the end of the run that starts with the datagram: datagrams of its length, and a last
// one that may be shorter.
func (p *Port) run(i int) int {
	o := &p.out
	size := o.Bytes(i)
	total, end := size, i+1
	if size > p.Size(o.To[i]) {
		return end
	}
	for end < o.Count && o.To[end] == o.To[i] && o.Bytes(end) <= size && total+o.Bytes(end) <= maxSegmented {
		total += o.Bytes(end)
		end++
		if o.Bytes(end-1) < size {
			break
		}
	}
	return end
}

// sendAll sends the prepared calls.
func (p *Port) sendAll(calls int, conn bool) {
	o, fd := &p.out, p.fd
	if conn {
		fd = p.conn.fd
	}
	for at := 0; at < calls; {
		p.stats.Calls++
		n, err := mmsg.SendAll(fd, o.calls[at:calls])
		if n > 0 {
			p.sent(o.first[at], o.first[at+n], 0)
			at += n
			continue
		}
		if err == unix.EAGAIN || err == unix.ENOBUFS || err == unix.ENOMEM {
			p.sent(o.first[at], o.Count, err) // the rest would fare no better
			return
		}
		p.sendApart(o.first[at], o.first[at+1], err)
		at++
	}
}

// sendApart sends one by one the datagrams that the kernel refused in one call. If it takes them
// so, the segmentation was the reason.
func (p *Port) sendApart(from, to int, why unix.Errno) {
	// Only the connected socket reports this, and for another datagram than this one.
	refused := why == unix.ECONNREFUSED
	if to == from+1 && why != unix.EMSGSIZE && !refused {
		p.sent(from, to, why)
		return
	}
	before := p.stats
	for i := from; i < to; i++ {
		p.sendOne(i)
	}
	if to > from+1 && !refused && p.stats.Dropped == before.Dropped && p.stats.Fragmented == before.Fragmented {
		p.gso = false
	}
}
