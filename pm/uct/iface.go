package uct

import (
	"context"
	"encoding/binary"
	"errors"
	"score/pm"
)

const (
	// batch bounds the messages that one call of Progress handles, so that a caller that has more to
	// do than to receive gets its turn: a lane of the shortest messages holds 4,096.
	batch = 64
	// checkEvery is after how many empty calls of Progress peers that owe an answer are checked: a
	// peer that closed its channel sends nothing any more. A call takes 20 ns or more.
	checkEvery = 1 << 12
)

// Handler handles an active message. It must not keep the packet.
type Handler func(p *Packet)

// Iface is this rank's end of a channel with all operations to all peers.
type Iface struct {
	worker   *Worker
	ch       *pm.Channel
	md       *MD
	eps      []*EP // by rank; nil before the first use
	handlers [256]Handler
	packet   Packet // of the message being handled
	most     int    // longest payload

	active []*EP // have something to send: pieces, acknowledgements, pending operations
	spare  *op   // operations for reuse
	calls  calls // operations that wait for an answer with data
	mapped mapped
	owed   int // operations that are not complete
	empty  int // calls of Progress in a row that found nothing
	onData func(ep *EP, ports Header, data uint64, length int)
	onGone func(ep *EP, err error)

	counts Counts
	closed bool
}

// Counts are totals of an interface since it was opened.
type Counts struct {
	Received  uint64 // active messages and requests
	Unknown   uint64 // messages that no handler took
	Served    uint64 // one-sided operations of peers
	Direct    uint64 // one-sided operations by load and store
	Copied    uint64 // bytes that were copied between processes by one system call each 256 KiB
	Streamed  uint64 // bytes that went in pieces through the channel
	Damaged   uint64 // peers that broke the protocol
	Exhausted uint64 // operations that had to wait for resources
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
		MaxShort: 48 - HeadBytes, MaxMessage: i.most, MaxRMA: MaxRMA,
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

// HandleData sets what is called after a Put with immediate data has arrived here. Of the header To
// and From are set.
func (i *Iface) HandleData(f func(ep *EP, ports Header, data uint64, length int)) { i.onData = f }

// HandleGone sets what is called once when a peer is lost: it died, closed its end, or broke the
// protocol.
func (i *Iface) HandleGone(f func(ep *EP, err error)) { i.onGone = f }

// EP returns the way to a rank. It is made at the first call; peers that are never used cost
// nothing but a word.
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

func (i *Iface) progress() int {
	n := 0
	for ; n < batch; n++ {
		m, err := i.ch.Receive()
		if err != nil {
			if err != pm.ErrEmpty { //nolint:errorlint // Receive returns this very value
				i.onReceiveError(err)
			}
			break
		}
		i.dispatch(m)
	}
	if len(i.active) > 0 {
		n += i.advance()
	}
	if n > 0 {
		i.empty = 0
		return n
	}
	if i.empty++; i.empty%checkEvery == 0 && i.owed > 0 {
		i.checkPeers()
	}
	return 0
}

func (i *Iface) dispatch(m pm.Message) {
	i.counts.Received++
	p := &i.packet
	p.msg = m
	if i.open(p) {
		i.handlers[p.ID](p)
	}
	p.msg = pm.Message{}
	_ = i.ch.ReleaseReceiveBuffer(m) // a message is given back once
}

// open reads the header. It is false for what no handler takes.
func (i *Iface) open(p *Packet) bool {
	m := p.msg
	if m.Len() < HeadBytes || m.WaitFor(HeadBytes) != nil {
		i.counts.Unknown++
		return false
	}
	p.Header = headerOf(binary.LittleEndian.Uint64(m.Head()))
	p.Source = m.Source()
	ep := i.eps[p.Source]
	if ep == nil {
		ep, _ = i.EP(p.Source)
	}
	p.EP = ep
	if i.handlers[p.ID] == nil {
		i.counts.Unknown++
		return false
	}
	return true
}

// onReceiveError handles the news that a peer died, and damage that a peer did.
func (i *Iface) onReceiveError(err error) {
	var gone *pm.PeerGoneError
	if errors.As(err, &gone) {
		if ep, err2 := i.EP(gone.Rank); err2 == nil {
			ep.fail(err)
		}
		return
	}
	if errors.Is(err, pm.ErrDamaged) {
		i.counts.Damaged++
	}
}

// advance sends what EPs have to send; those that still have something stay in the list.
func (i *Iface) advance() int {
	n, kept := 0, 0
	for at := 0; at < len(i.active); at++ {
		ep := i.active[at]
		sent, more := ep.advance()
		n += sent
		if more {
			i.active[kept] = ep
			kept++
			continue
		}
		ep.active = false
	}
	i.active = i.active[:kept]
	return n
}

// checkPeers looks whether peers that owe something can still be reached.
func (i *Iface) checkPeers() {
	for _, ep := range i.eps {
		if ep == nil || ep.failed != nil || !ep.owes() {
			continue
		}
		if _, err := i.ch.Room(ep.rank); err != nil {
			ep.fail(err)
		}
	}
}

// wait waits until there may be something to do.
func (i *Iface) wait(ctx context.Context) error {
	if i.closed {
		return ErrClosed
	}
	if i.owed > 0 {
		i.checkPeers()
	}
	for _, ep := range i.active {
		err := i.ch.WaitSpace(ctx, ep.rank, 0)
		if err != nil && ctx.Err() == nil {
			ep.fail(err)
			return nil
		}
		return err
	}
	return i.ch.Wait(ctx)
}

// Close tells the peers, completes what is under way with ErrCanceled, and closes the channel.
func (i *Iface) Close() error {
	if i.closed {
		return ErrClosed
	}
	for _, ep := range i.eps {
		if ep == nil {
			continue
		}
		if ep.failed == nil {
			_, _ = ep.advance()
			_ = ep.send(Header{ID: idBye}, nil) // a peer without room finds out by its next message
		}
		ep.fail(ErrCanceled)
		ep.release()
	}
	i.closed = true
	i.worker.remove(i)
	return i.ch.Close()
}
