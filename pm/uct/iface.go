package uct

import (
	"score/channels/abi"
	"score/pm"
	"score/pm/interjob"
	"score/pm/uct/handles"
)

// Handler handles an active message. It must not keep the packet.
type Handler func(p *Packet)

// Iface is this rank's end of a channel with all operations to all peers.
type Iface struct {
	worker     *Worker
	ch         *pm.Channel
	md         *MD
	eps        []*EP // by rank; nil before the first use
	handlers   [256]Handler
	packet     Packet                   // of the message being handled
	onWhole    func(rank int, b []byte) // handleWhole
	maxPayload int                      // longest payload

	active       []*EP             // have something to send: pieces, acknowledgements, pending operations
	lost         []*EP             // lost, and not ended
	check        int               // the rank that is checked next
	inside       bool              // a call of Progress is under way
	calls        handles.Table[op] // operations that were sent and wait for data
	spareOps     *op               // for reuse
	spareReplies *reply
	others       *interjob.Node // for ranks of other jobs; nil: none is connected
	mapped       mapped
	owed         int // operations that are not complete
	pulls        int // of these, pulls
	empty        int // calls of Progress in a row that found nothing
	// crowded: the ranks on this node have fewer CPUs than they are.
	crowded bool
	onData  func(ep *EP, ports Ports, data uint64, length int)
	onGone  func(ep *EP, err error)

	bulk   bulk
	counts Counts
	owner  bool // of its memory domain
	closed bool
}

// Counts are totals of an interface since it was opened.
type Counts struct {
	Received  uint64 // active messages and requests
	Unknown   uint64 // messages that no handler took
	Served    uint64 // one-sided operations of peers
	Direct    uint64 // one-sided operations by load and store
	Copied    uint64 // bytes that were copied between processes by one system call each 256 KiB
	Streamed  uint64 // bytes that went in pieces through the channel, or as bulk datagrams
	Bulk      uint64 // bytes that were sent as bulk datagrams
	Again     uint64 // pieces of pulls that were asked for again
	Damaged   uint64 // rings of the channel that were given up
	GivenUp   uint64 // peers that broke the protocol
	Mapped    uint64 // windows of peers that were mapped
	Exhausted uint64 // operations that had to wait for resources
}

// report adds the counts to those that the channel publishes.
func (i *Iface) report(c *pm.StackCounts) {
	c.Direct += i.counts.Direct
	c.Mapped += i.counts.Mapped
	c.Copied += i.counts.Copied
	c.Streamed += i.counts.Streamed
	c.GivenUp += i.counts.GivenUp
	c.Bulk += i.counts.Bulk
	c.Again += i.counts.Again
	c.Pulls += uint64(i.bulk.pulls)
}

// Attr describes what an interface can do.
type Attr struct {
	Rank, Ranks  int
	MaxShort     int // longest payload of an active message that is one cache line, in bytes
	MaxMessage   int // longest payload of an active message, in bytes
	MaxRMA       int // longest Put or Get, in bytes
	AtomicWidths []int
	Outstanding  int // operations of one EP that may be under way
}

// Attr returns the interface's attributes.
func (i *Iface) Attr() Attr {
	return Attr{
		Rank: i.ch.Rank(), Ranks: i.ch.Size(),
		MaxShort: abi.LineBytes - abi.RecordBytes - HeadBytes, MaxMessage: i.maxPayload, MaxRMA: MaxRMA,
		AtomicWidths: []int{1, 2, 4, 8}, Outstanding: MaxOps,
	}
}

// Counts returns the totals.
func (i *Iface) Counts() Counts { return i.counts }

// Channel is the channel below.
func (i *Iface) Channel() *pm.Channel { return i.ch }

// Handle sets the handler of an identifier, FirstID to LastID.
func (i *Iface) Handle(id uint8, h Handler) {
	if id < FirstID {
		panic("uct: identifiers below FirstID are the package's own")
	}
	i.handlers[id] = h
}

// HandleData sets the function that is called after a Put with immediate data has arrived here.
func (i *Iface) HandleData(f func(ep *EP, ports Ports, data uint64, length int)) { i.onData = f }

// HandleGone sets the function that is called once when a peer is lost: it died, closed its end, or
// broke the protocol.
func (i *Iface) HandleGone(f func(ep *EP, err error)) { i.onGone = f }

// EP returns the endpoint for a rank. It is made at the first call; an unused peer costs one word.
func (i *Iface) EP(rank int) (*EP, error) {
	if uint(rank) < uint(len(i.eps)) && i.eps[rank] != nil {
		return i.eps[rank], nil
	}
	if rank < 0 || rank >= len(i.eps) {
		return nil, pm.ErrRank
	}
	if i.closed {
		return nil, ErrClosed
	}
	ep := &EP{iface: i, rank: rank, local: i.ch.SameNode(rank)}
	i.eps[rank] = ep
	return ep, nil
}
