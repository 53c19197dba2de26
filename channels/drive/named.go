package drive

import (
	"score/channels/link"
	"score/flowctl"
)

// Ranks that are found by name (TIPC): the name of a peer's context may be bound by anybody, so the
// first question and its answer are sealed, and only then, to the socket that answered, datagrams
// go with the job's key.

// requestByName asks at the name of the peer's context where it is, and at the name of its node's
// directory, which makes the context if its rank has not opened the channel yet.
func (d *Driver) requestByName(p *peer) {
	local := d.port.Local()
	q := link.Sealed{Kind: link.Where, Channel: d.img.Channel, From: d.img.Rank, To: p.rank, Flow: d.flowNumber}
	for _, to := range [...]link.Address{d.names.Context(d.img.Channel, p.rank), p.directory} {
		_, q.Name, _ = to.Name() // both are names: the link is TIPC
		d.port.Queue(to, q.Put(d.port.Buffer(), d.img.Job, local, link.Address{}))
	}
	d.port.Flush()
}

// inputSealed takes a question or an answer from a socket that is not known yet.
func (d *Driver) inputSealed(from link.Address, data []byte) {
	s, err := link.ParseSealed(data)
	if err != nil || s.Channel != d.img.Channel || s.To != d.img.Rank {
		return
	}
	p := d.peer(s.From)
	if p == nil {
		return
	}
	switch s.Kind {
	case link.Where:
		_, own, _ := d.names.Context(d.img.Channel, d.img.Rank).Name()
		if s.Name == own && link.Opens(data, d.img.Job, from, link.Address{}) {
			d.clock()
			d.answerWhere(p, from)
		}
	case link.Here:
		node, _, ok := from.Socket()
		if ok && link.Opens(data, d.img.Job, from, d.port.Local()) {
			d.clock()
			if s.Status == link.StatusEnded {
				p.address = link.Address{} // it was there, perhaps
			}
			d.recordLocation(p, s.Status, link.SocketAddress(node, s.Name))
		}
	case link.Data, link.Ask, link.Answer, link.End: // End is for directories
	}
}

// answerWhere tells a peer that this context is where the answer comes from. If the context has
// ended, the peer learns that when it sends.
func (d *Driver) answerWhere(p *peer, from link.Address) {
	local := d.port.Local()
	_, reference, ok := local.Socket()
	if !ok {
		return
	}
	s := link.Sealed{Kind: link.Here, Channel: d.img.Channel, From: d.img.Rank, To: p.rank, Name: reference, Status: link.StatusHere}
	d.port.Queue(from, s.Put(d.port.Buffer(), d.img.Job, local, from))
	d.port.Flush()
}

// mayBeAt reports whether a peer may be where a datagram with the job's key came from: on the node
// that it is known to be on. Nodes have no number (0) before their kernel's TIPC joins a network.
func mayBeAt(p *peer, from link.Address) bool {
	node, _, ok := p.address.Socket()
	return from.IsTIPC() && (!ok || node == 0 || from.Host() == p.address.Host())
}

// PeerWithdrawn reports that a socket gave up the name of a rank's context. The socket may have
// been anybody's, or the way to the rank's node may be gone, so the driver asks the rank's
// directory, if there was ever any exchange.
func (d *Driver) PeerWithdrawn(rank uint32, now int64) {
	p := d.peer(rank)
	if p == nil || d.names == nil || p.send.Failed() || p.send.Status().Sent == 0 && p.recv.Status().Echo == 0 {
		return
	}
	d.now = now
	p.address = link.Address{}
	if p.lookup.at == flowctl.NoDeadline {
		p.lookup = lookup{at: now}
	}
	d.requestAddress(p)
}
