package drive

import (
	"net/netip"
	"score/channels/link"
	"score/flowctl"
	"time"
)

// A driver asks the directory of a peer's node for the address of the peer's context. It also
// learns the address from a datagram with the job's key that comes from that node.

const (
	// minLookupWait is the wait before asking again: a few round trips.
	minLookupWait = int64(time.Millisecond)
	// maxLookupWait bounds the doubled waits.
	maxLookupWait = int64(50 * time.Millisecond)
	// lookupStale is the time without a question after which earlier silence is forgotten: the
	// context may have been away.
	lookupStale = 20 * maxLookupWait
)

// lookup is the state of asking.
type lookup struct {
	at    int64 // when to ask again
	since int64 // when the directory was first asked without any answer; 0: it answers
	asked int64 // when it was last asked
	wait  int64
	count uint32 // Image.Located at since
}

// requestAddress asks for the peer's address, if it is time to.
func (d *Driver) requestAddress(p *peer) {
	l := &p.lookup
	if l.at != flowctl.NoDeadline && d.now < l.at {
		return
	}
	// Both drivers read the same socket, so the other one may have taken the answer. An answer of
	// any directory ends the silence: a late verdict does less harm than declaring a live rank
	// dead.
	if count := d.img.Located(); l.since == 0 || l.count != count || d.now-l.asked > lookupStale {
		l.since, l.count = d.now, count
	}
	l.asked = d.now
	if d.now-l.since >= int64(d.flow.FailAfter) {
		p.send.Fail()
		d.lose(p)
		return
	}
	l.wait = min(max(l.wait*2, minLookupWait), maxLookupWait)
	l.at = d.now + l.wait
	if d.names != nil {
		d.requestByName(p)
		return
	}
	h := link.Head{Kind: link.Where, Job: d.img.Job, Channel: d.img.Channel, From: d.img.Rank, To: p.rank, Flow: d.flowNumber}
	d.writer.Begin(d.port.Buffer(), p.size, &h)
	d.port.Queue(p.directory, d.writer.Finish(0))
	d.port.Flush()
}

// onAddress takes a directory's answer.
func (d *Driver) onAddress(p *peer, from link.Address, h *link.Head) {
	if from == p.directory {
		d.recordLocation(p, h.Status, withPort(p.directory, h.Port))
	}
}

// recordLocation records where a peer is, if it is anywhere.
func (d *Driver) recordLocation(p *peer, status uint8, at link.Address) {
	p.lookup.since = 0
	d.img.NoteLocated()
	switch status {
	case link.StatusHere:
		p.address = at
		p.lookup = lookup{at: flowctl.NoDeadline}
	case link.StatusEnded:
		if p.address.None() && (!p.send.Closed() || d.owesRest(p)) {
			d.end(p, link.EndDied)
		}
	default: // not yet: asked again
		return
	}
	d.touch(p)
}

// comesFrom reports whether a datagram may be the peer's, and takes the peer's address from it.
func (d *Driver) comesFrom(p *peer, from link.Address, h *link.Head) bool {
	switch {
	case h.Kind > link.Answer || h.Status != link.StatusSendOnly:
		return from == p.address || d.updateAddress(p, from)
	case from == p.sending:
		return true
	case from.Host() != p.directory.Host():
		return false
	}
	p.sending = from
	return true
}

// updateAddress takes a peer's address from a datagram that carries the job's key, if it comes
// from the peer's node. Only the job's own ranks and the daemons know the key.
func (d *Driver) updateAddress(p *peer, from link.Address) bool {
	if d.names == nil && from.Host() != p.directory.Host() || d.names != nil && !mayBeAt(p, from) {
		return false
	}
	p.address = from
	p.lookup = lookup{at: flowctl.NoDeadline}
	return true
}

func withPort(a link.Address, port uint16) link.Address {
	return link.AddressOf(netip.AddrPortFrom(a.AddrPort().Addr(), port))
}
