package link

import "time"

// MaxDatagram is the longest datagram: what the loopback device of Linux (MTU 65,536) takes in one
// piece by IPv6, whose headers (48 bytes) are the longer ones. Every port's buffers have this
// length.
const MaxDatagram = 65536 - 48

// MinDatagram is a length that every port takes for every address: what a host must accept
// by RFC 791 (576 bytes) less the longest IPv4 header and that of UDP.
const MinDatagram = 576 - 60 - 8

// Port is a context's, or an agent's, way to the network. It is used by one driver at a time,
// who has the driver lock: no method may run beside another.
type Port interface {
	// Local is where the port receives.
	Local() Address
	// Size is the longest datagram that goes to the address without being fragmented, from
	// [MinDatagram] to [MaxDatagram]. It changes when the port learns that the path is narrower;
	// longer datagrams get there too, in fragments.
	Size(to Address) int
	// Buffer returns room for the next datagram, MaxDatagram bytes long. If what is queued leaves
	// none, it is flushed first. Without a Queue in between it returns the same room again.
	Buffer() []byte
	// Queue queues the first n bytes of the last Buffer as a datagram for the address, or nothing
	// if n is 0.
	Queue(to Address, n int)
	// Flush sends what is queued. What the system does not accept now counts as lost on the wire.
	Flush()
	// Receive calls handle for each datagram of one batch and returns their number. data is valid
	// during the call only; handle may send, but not receive. A caller that loops stops when it
	// returns 0.
	Receive(handle func(from Address, data []byte)) int
	// Stats says what the port has done so far.
	Stats() Stats
	// Close gives the port up. What is queued and not flushed is lost.
	Close() error
}

// Holder is a port that delays some datagrams ([WithFaults]). Later calls of its owner send them;
// the owner calls Receive when Wait is over even if nothing comes.
type Holder interface {
	// Wait returns how long until a held datagram goes, 0 or less if it is late. holds is false
	// without one.
	Wait() (wait time.Duration, holds bool)
}

// Connecter is a port with a second socket that is connected to an address to which it sends often,
// so that the kernel need not look up the route for each datagram. These datagrams do not come from
// where the port receives, and must say so.
type Connecter interface {
	// Connected reports whether a datagram for the address is better queued by QueueConnected. It
	// is called before each.
	Connected(to Address) bool
	// QueueConnected is Queue for a datagram that says StatusSendOnly. It goes through the other
	// socket if something else is flushed with it.
	QueueConnected(to Address, n int)
}

// Guarded is a port that knows whether the transport guards the bytes of datagrams by a checksum of
// its own, as UDP does. On other ports nothing does, and datagrams have a CRC over all bytes.
type Guarded interface {
	// Guarded reports whether datagrams that go in one piece are guarded.
	Guarded() bool
}

// Borrower is a port that sends datagrams from two places of memory.
type Borrower interface {
	// Borrow appends data, without a copy, to the datagram queued next ([Writer.Borrow]). data
	// stays as it is until Flush. Buffer drops it.
	Borrow(data []byte)
}

// Stats counts what a port did since it was made.
type Stats struct {
	Sent, SentBytes         uint64 // datagrams that the system took
	Received, ReceivedBytes uint64 // datagrams given to a handler
	Dropped                 uint64 // datagrams that the system did not take
	Truncated               uint64 // datagrams that came longer than MaxDatagram, and were thrown away
	Overflowed              uint64 // datagrams that found the receive queue full, of all ports on the socket
	Fragmented              uint64 // datagrams that were longer than the path takes
	Calls                   uint64 // system calls that sent or received
}
