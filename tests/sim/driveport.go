package sim

import (
	"score/channels/abi"
	"score/channels/link"
	"sync"
)

// kindAt is the offset of a datagram's kind (package link).
const kindAt = 6

// datagram is a datagram in a socket, or one to be sent.
type datagram struct {
	from, to link.Address
	at, n    int // in the box's bytes
}

// box holds datagrams in one piece of memory.
type box struct {
	list  []datagram
	bytes []byte
}

func (b *box) add(from, to link.Address, data []byte) {
	b.list = append(b.list, datagram{from: from, to: to, at: len(b.bytes), n: len(data)})
	b.bytes = append(b.bytes, data...)
}

func (b *box) data(d *datagram) []byte { return b.bytes[d.at : d.at+d.n] }

func (b *box) clear() { b.list, b.bytes = b.list[:0], b.bytes[:0] }

// boxes are buffers that contexts reuse.
type boxes struct {
	socket, out box
	taken       int // datagrams of the socket that were received
	buffer      [link.MaxDatagram]byte
	scratch     []byte
}

var spareBoxes = sync.Pool{New: func() any { return new(boxes) }}

// drivePort is one driver's use of a context's socket: both use the same.
type drivePort struct {
	c    *driveContext
	size int
	role uint32
}

// act is called before each thing that the agent does: it may be its last.
func (p *drivePort) act(what string) {
	if s := p.c.shared; s != nil && p.role == abi.RoleAgent {
		s.host().act(what)
	}
}

func (p *drivePort) Local() link.Address   { return link.Address{} }
func (p *drivePort) Size(link.Address) int { return p.size }
func (p *drivePort) Buffer() []byte        { return p.c.buffer[:] }
func (p *drivePort) Flush()                {}
func (p *drivePort) Stats() link.Stats     { return link.Stats{} }
func (p *drivePort) Close() error          { return nil }

func (p *drivePort) Queue(to link.Address, n int) {
	p.act("sending")
	if n > 0 {
		p.c.out.add(link.Address{}, to, p.c.buffer[:n])
	}
}

// Receive takes a batch, of any size.
func (p *drivePort) Receive(handle func(link.Address, []byte)) int {
	c := p.c
	n := min(len(c.socket.list)-c.taken, c.dice.between(1, 8))
	for range n {
		d := &c.socket.list[c.taken]
		c.taken++
		p.act("receiving")
		handle(d.from, c.socket.data(d))
	}
	if c.taken == len(c.socket.list) {
		c.socket.clear()
		c.taken = 0
	}
	return n
}
