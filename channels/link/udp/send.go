package udp

import (
	"score/channels/link"

	"golang.org/x/sys/unix"
)

const (
	// batch bounds the datagrams of one flush. It is the number of segments that every
	// kernel with UDP_SEGMENT takes at once.
	batch = 64
	// arenaBytes bounds the bytes of one flush: a few of the longest datagrams, and little
	// enough to stay in a second-level cache between the writer and the kernel.
	arenaBytes = 4 * 65536
	// lineBytes: datagrams start at cache lines.
	lineBytes = 64
	// segmentedMost bounds the bytes that go as one to be cut: an IPv6 packet.
	segmentedMost = 65535 - headers6
)

// sender is what is queued.
type sender struct {
	arena []byte
	used  int // of the arena
	count int
	conn  int // how many of them may go through the connected socket
	to    [batch]link.Address
	data  [batch][]byte
	iov   [batch]unix.Iovec
	calls [batch]message
	first [batch + 1]int // of each call: index of its first datagram
	sizes [batch]control
}

// Buffer implements link.Port.
func (p *Port) Buffer() []byte {
	o := &p.out
	if o.count == batch || o.used > len(o.arena)-link.MaxDatagram {
		p.Flush()
		if o.arena == nil {
			o.arena = make([]byte, arenaBytes)
		}
	}
	return o.arena[o.used : o.used+link.MaxDatagram : o.used+link.MaxDatagram]
}

// Queue implements link.Port.
func (p *Port) Queue(to link.Address, n int) {
	if n == 0 {
		return
	}
	o := &p.out
	o.data[o.count] = o.arena[o.used : o.used+n]
	o.to[o.count] = to
	o.count++
	o.used += (n + lineBytes - 1) &^ (lineBytes - 1)
}

// Flush implements link.Port.
func (p *Port) Flush() {
	o := &p.out
	conn := o.conn == o.count
	switch {
	case o.count == 0:
		return
	case o.count > 1:
		p.sendAll(p.plan(conn), conn)
	case conn && p.sendConnected(o.data[0]) == 0:
		p.sent(0, 1, 0)
	default:
		p.sendOne(0)
	}
	o.count, o.used, o.conn = 0, 0, 0
}

// sendOne sends the datagram with the index by itself.
func (p *Port) sendOne(i int) {
	o := &p.out
	err := p.sendTo(o.data[i], &o.to[i])
	if err == unix.EMSGSIZE {
		err = p.sendLong(i)
	}
	p.sent(i, i+1, err)
}

// sendLong sends a datagram that is longer than the path takes in fragments: frames that were cut
// for a wider path must get there, too.
func (p *Port) sendLong(i int) unix.Errno {
	o := &p.out
	if n := len(o.data[i]); n <= p.Size(o.to[i]) {
		p.narrowed(o.to[i], n)
	}
	p.stopFragments(p.fd, false)
	err := p.sendTo(o.data[i], &o.to[i])
	p.stopFragments(p.fd, true)
	p.stats.Fragmented++
	return err
}

// sent counts what became of the datagrams from one index to the other.
func (p *Port) sent(from, to int, err unix.Errno) {
	if err != 0 {
		p.stats.Dropped += uint64(to - from)
		return
	}
	p.stats.Sent += uint64(to - from)
	for _, d := range p.out.data[from:to] {
		p.stats.SentBytes += uint64(len(d))
	}
}

// plan makes calls of the datagrams and returns their number: runs of equal length to one address
// are one call. conn: they go through the connected socket.
func (p *Port) plan(conn bool) (calls int) {
	o := &p.out
	for i := 0; i < o.count; calls++ {
		end := i + 1
		if p.gso {
			end = p.run(i)
		}
		o.first[calls] = i
		p.prepare(calls, i, end, conn)
		i = end
	}
	o.first[calls] = o.count
	return calls
}

// run is the end of the run that starts with the datagram: of its length, but the last one may be
// shorter.
func (p *Port) run(i int) int {
	o := &p.out
	size := len(o.data[i])
	total, end := size, i+1
	if size > p.Size(o.to[i]) {
		return end
	}
	for end < o.count && o.to[end] == o.to[i] && len(o.data[end]) <= size && total+len(o.data[end]) <= segmentedMost {
		total += len(o.data[end])
		end++
		if len(o.data[end-1]) < size {
			break
		}
	}
	return end
}

// sendAll sends so many prepared calls.
func (p *Port) sendAll(calls int, conn bool) {
	o, fd := &p.out, p.fd
	if conn {
		fd = p.conn.fd
	}
	for at := 0; at < calls; {
		n, err := p.sendCalls(fd, at, calls)
		if n > 0 {
			p.sent(o.first[at], o.first[at+n], 0)
			at += n
			continue
		}
		if err == unix.EAGAIN || err == unix.ENOBUFS || err == unix.ENOMEM {
			p.sent(o.first[at], o.count, err) // the rest would fare no better
			return
		}
		p.sendApart(o.first[at], o.first[at+1], err)
		at++
	}
}

// sendApart sends datagrams that the kernel refused to take in one call one by one. If it takes
// them so, then it was the segmentation that it did not like.
func (p *Port) sendApart(from, to int, why unix.Errno) {
	// That is told by the connected socket only, and of another datagram than this one.
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
