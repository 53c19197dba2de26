package uct

import (
	"encoding/binary"
	"errors"
	"score/pm"
)

const (
	// batch bounds the messages that one call of Progress handles, so that the caller gets to its
	// other work: a lane of the shortest messages holds 4,096.
	batch = 64
	// checkEvery is the number of empty calls of Progress after which one peer is checked: a peer
	// that closed its channel without room for a goodbye sends nothing any more. A call takes 10 ns
	// or more.
	checkEvery = 1 << 8
	// lateAfter is the number of empty calls of Progress in a row after which the bytes of a pull
	// count as late: their owner computes. That many calls take some 50 us, and twice that where
	// the network is polled, too; in that time the bytes usually come.
	lateAfter = 1 << 12
)

func (i *Iface) progress() int {
	if i.inside {
		return 0 // called by a handler
	}
	i.inside = true
	n, lost := 0, len(i.lost)
	var drained, ended bool
	if i.bulk.pulls > 0 {
		n, ended = i.takeBulk()
	}
	if !ended {
		var got int
		got, drained = i.receive()
		n += got
	}
	if i.others != nil && i.others.Due() {
		more, empty := i.receiveOthers()
		n, drained = n+more, drained && empty
	}
	if i.bulk.pulls > 0 {
		n += i.askBulk()
	}
	if len(i.active) > 0 {
		n += i.advance()
	}
	if len(i.lost) > 0 {
		n += i.endLost(lost, drained)
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
	if i.ch.Empty() {
		return 0, true
	}
	for n < batch {
		if i.ch.More() {
			n += i.ch.Each(batch-n, i.onWhole)
		}
		if n > 0 && !i.ch.More() || n == batch {
			return n, false // polling the inbox costs as much as a message
		}
		m, err := i.ch.Receive()
		if err == nil {
			i.dispatch(m)
			n++
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

// endLost ends what waits for peers that were lost, if nothing more of them comes. Only the first
// known of them were lost before the inbox was drained: a later one may have left messages in it.
func (i *Iface) endLost(known int, drained bool) (n int) {
	lost := i.lost
	i.lost = nil
	for at, ep := range lost {
		if !ep.inboundClosed && (at >= known || !drained || ep.arriving()) {
			i.lost = append(i.lost, ep)
			continue
		}
		ep.end()
		n++
	}
	return n
}

// dispatch handles a message that Each left.
func (i *Iface) dispatch(m pm.Message) {
	i.handle(m.Source(), i.waitHead(m), m.Len())
	_ = i.ch.ReleaseReceiveBuffer(m) // a message is given back once
}

// waitHead returns the bytes that have arrived of a message that may still be written, at least its
// header if it has one.
func (i *Iface) waitHead(m pm.Message) []byte {
	if m.Len() < HeadBytes || m.WaitFor(HeadBytes) != nil {
		return nil
	}
	i.packet.msg = m
	return m.Head()
}

// handleWhole handles a message that came whole.
func (i *Iface) handleWhole(source int, data []byte) { i.handle(source, data, len(data)) }

// handle calls the handler of a message of the given length, whose leading bytes are data.
func (i *Iface) handle(source int, data []byte, length int) {
	p := &i.packet
	i.counts.Received++
	if len(data) < HeadBytes {
		i.counts.Unknown++
		return
	}
	p.Header = headerOf(binary.LittleEndian.Uint64(data))
	p.Source, p.length, p.there = source, length-HeadBytes, data[HeadBytes:]
	ep := i.eps[source]
	if ep == nil {
		ep, _ = i.EP(source)
	}
	p.EP = ep
	switch h := i.handlers[p.ID]; {
	case ep.inboundClosed:
	case h == nil:
		i.counts.Unknown++
	default:
		h(p)
	}
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

// checkNext checks whether the next peer can still be reached: one at a time, so that the work does
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

// checkPeers checks all peers that owe something.
func (i *Iface) checkPeers() {
	for _, ep := range i.eps {
		if ep != nil && ep.failed == nil && ep.owes() {
			ep.checkReach()
		}
	}
}

func (e *EP) checkReach() {
	if e.other != nil {
		return // its end is reported
	}
	if _, err := e.iface.ch.Room(e.rank); err != nil {
		e.lose(err)
	}
}
