package uct

import (
	"context"
	"encoding/binary"
	"errors"
	"score/pm"
	"time"
)

const (
	// batch bounds the messages that one call of Progress handles, so that a caller that has more to
	// do than to receive gets its turn: a lane of the shortest messages holds 4,096.
	batch = 64
	// checkEvery is after how many empty calls of Progress one peer is checked: a peer that closed its
	// channel without room for a goodbye sends nothing any more. A call takes 20 ns or more.
	checkEvery = 1 << 8
	// lateAfter is after how many empty calls of Progress in a row the bytes of a pull are not waited
	// for any more: their owner computes. They are some 50 us, which other bytes take to come.
	lateAfter = 1 << 11
	// byeMost bounds how long Close waits for room to say goodbye.
	byeMost = 100 * time.Millisecond
	// owedSleep bounds a sleep while a peer owes an answer: it may have closed its channel just before
	// the question came.
	owedSleep = 100 * time.Millisecond
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
	lost   []*EP // lost, and not over
	check  int   // the rank that is looked at next
	inside bool  // a call of Progress is under way
	spare  *op   // operations for reuse
	calls  calls // operations that wait for an answer with data
	mapped mapped
	owed   int // operations that are not complete
	pulls  int // of these, pulls
	empty  int // calls of Progress in a row that found nothing
	// crowded: the ranks on this node have fewer CPUs than they are.
	crowded bool
	onData  func(ep *EP, ports Header, data uint64, length int)
	onGone  func(ep *EP, err error)

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
	Streamed  uint64 // bytes that went in pieces through the channel
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
	if i.inside {
		return 0 // called by a handler
	}
	i.inside = true
	n, drained := i.receive()
	if len(i.active) > 0 {
		n += i.advance()
	}
	if len(i.lost) > 0 {
		n += i.endLost(drained)
	}
	i.inside = false
	if n > 0 {
		i.empty = 0
		return n
	}
	if i.empty++; i.empty%checkEvery == 0 {
		i.checkNext()
	}
	if i.empty%lateAfter == 0 && i.pulls > 0 {
		return i.copyLate()
	}
	return 0
}

// receive handles what has come; drained reports that there is no more.
func (i *Iface) receive() (n int, drained bool) {
	for ; n < batch; n++ {
		m, err := i.ch.Receive()
		if err == nil {
			i.dispatch(m)
			if !i.ch.More() {
				return n + 1, false // a look at the inbox costs as much as a message
			}
			continue
		}
		if err == pm.ErrEmpty { //nolint:errorlint // Receive returns this very value
			return n, true
		}
		i.onReceiveError(err)
		return n, false
	}
	return n, false
}

// endLost ends what waits for peers that were lost, if nothing more of them comes.
func (i *Iface) endLost(drained bool) (n int) {
	lost := i.lost
	i.lost = nil
	for _, ep := range lost {
		if !ep.deaf && (!drained || ep.arriving()) {
			i.lost = append(i.lost, ep)
			continue
		}
		ep.end()
		n++
	}
	return n
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
	if ep.deaf {
		return false
	}
	if i.handlers[p.ID] == nil {
		i.counts.Unknown++
		return false
	}
	return true
}

// onReceiveError handles the news that a peer died, and damage that a peer did.
func (i *Iface) onReceiveError(err error) {
	var gone *pm.PeerGoneError
	var flow *pm.FlowError
	switch {
	case errors.As(err, &gone):
		i.failRank(gone.Rank, err)
	case errors.As(err, &flow):
		i.failRank(flow.Rank, err)
	case errors.Is(err, pm.ErrDamaged):
		i.counts.Damaged++
	}
}

func (i *Iface) failRank(rank int, err error) {
	if ep, err2 := i.EP(rank); err2 == nil {
		ep.fail(err)
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

// checkNext looks whether the next peer can still be reached: one at a time, so that the work does
// not grow with the peers.
func (i *Iface) checkNext() {
	for range i.eps {
		ep := i.eps[i.check]
		if i.check++; i.check == len(i.eps) {
			i.check = 0
		}
		if ep != nil && ep.failed == nil && ep.rank != i.ch.Rank() {
			ep.checkReach()
			return
		}
	}
}

// checkPeers looks at all peers that owe something.
func (i *Iface) checkPeers() {
	for _, ep := range i.eps {
		if ep != nil && ep.failed == nil && ep.owes() {
			ep.checkReach()
		}
	}
}

func (e *EP) checkReach() {
	if _, err := e.iface.ch.Room(e.rank); err != nil {
		e.lose(err)
	}
}

// wait waits until there may be something to do.
func (i *Iface) wait(ctx context.Context) error {
	if i.closed {
		return ErrClosed
	}
	if i.pulls > 0 && i.copyLate() > 0 {
		return nil
	}
	if i.owed > 0 {
		i.checkPeers()
	}
	if len(i.lost) > 0 {
		return i.waitLost(ctx)
	}
	if len(i.active) > 0 {
		return i.waitSpace(ctx)
	}
	if i.owed == 0 {
		return i.ch.Wait(ctx)
	}
	return i.waitFor(ctx, time.Now().Add(owedSleep))
}

// waitSpace waits until the first of those that have something to send can go on; Progress then looks
// at the others, too.
func (i *Iface) waitSpace(ctx context.Context) error {
	ep := i.active[0]
	err := i.ch.WaitSpace(ctx, ep.rank, min(ep.wanted, i.ch.MaxMessage()))
	if err != nil && ctx.Err() == nil {
		ep.lose(err)
		return nil
	}
	return err
}

// waitFor is the channel's Wait, at most until then.
func (i *Iface) waitFor(ctx context.Context, until time.Time) error {
	short, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if err := i.ch.Wait(short); ctx.Err() != nil || short.Err() == nil {
		return err
	}
	return nil
}

// waitLost waits for the last messages of lost peers, no longer than they may take.
func (i *Iface) waitLost(ctx context.Context) error {
	for _, ep := range i.lost {
		if ep.deaf || !ep.arriving() {
			return ctx.Err()
		}
	}
	return i.waitFor(ctx, i.lost[0].since.Add(lingerMost))
}

// sayBye sends what can be sent now, and a goodbye. For want of room what comes is thrown away: the
// peer may wait for room, too. A peer that is not told finds out by its next message.
func (i *Iface) sayBye(ep *EP, until time.Time) {
	_, _ = ep.advance()
	for ep.send(Header{ID: idBye}, nil) == ErrAgain && time.Now().Before(until) { //nolint:errorlint // this very value
		i.discard(until)
	}
}

// discard throws the next message away. Its sender will be told that this end closes.
func (i *Iface) discard(until time.Time) bool {
	m, err := i.ch.Receive()
	if err != nil {
		return false
	}
	_, _ = i.EP(m.Source())          // a rank of the job
	_ = i.ch.ReleaseReceiveBuffer(m) // a message is given back once
	return time.Now().Before(until)
}

// Close tells the peers, completes what is under way with ErrCanceled, and closes the channel.
func (i *Iface) Close() error {
	if i.closed {
		return ErrClosed
	}
	until := time.Now().Add(byeMost)
	for i.discard(until) {
	}
	i.closed = true
	for _, ep := range i.eps {
		if ep != nil && ep.failed == nil {
			i.sayBye(ep, until)
		}
	}
	for _, ep := range i.eps {
		if ep != nil {
			ep.fail(ErrCanceled)
			ep.end()
			ep.release()
		}
	}
	i.worker.remove(i)
	err := i.ch.Close()
	if i.owner {
		err = errors.Join(err, i.md.Close())
	}
	return err
}
