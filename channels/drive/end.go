package drive

import (
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
)

// PeerEnded reports that a rank closed its end (link.EndClosed), died (link.EndDied), or uses
// another flow control (link.EndFlow).
func (d *Driver) PeerEnded(rank uint32, how uint8) {
	if p := d.peer(rank); p != nil {
		d.end(p, how)
	}
}

func (d *Driver) end(p *peer, how uint8) {
	if p.lost() || p.send.Closed() && how == link.EndClosed {
		return // a peer that closed can still die, with what its agent had not sent yet
	}
	switch how {
	case link.EndClosed:
		p.send.Finish()
	case link.EndFlow:
		p.send.Mismatch()
	default:
		p.send.Fail()
	}
	d.lose(p)
}

// refuseFlow ends the exchange with a peer that uses another flow control, and tells the peer. Both
// report the same error to their programs.
func (d *Driver) refuseFlow(p *peer, kind link.Kind) {
	if kind != link.Answer {
		d.put(p, link.Head{Kind: link.End, Status: link.EndFlow})
		d.port.Flush()
	}
	d.end(p, link.EndFlow)
}

// owesRest reports whether a peer that closed its end has not sent all of a message yet: its
// agent goes on with that, unless it dies.
func (d *Driver) owesRest(p *peer) bool {
	return p.send.Closed() && d.inbox() && d.in.Got(p.rank) != 0
}

// lose gives up a peer that has failed: nobody will acknowledge what is kept for it, and, unless
// it only closed its end, the rest of its message will not come.
func (d *Driver) lose(p *peer) {
	if !p.send.Closed() {
		if d.inbox() {
			_ = d.in.Lose(p.rank) // the image may contradict itself; there is nothing to lose then
		}
		p.left = 0
		d.returnCredits(p)
	}
	p.cursor = cursor{}
	p.lookup.at = flowctl.NoDeadline
	_, _ = d.buf.Acknowledged(p.rank, p.send.End()) // as far as its list makes sense
	if p.unreported() {
		d.img.SetActive(p.rank, true)
	}
	d.img.NoteGone()
	d.freed = true
}

// Gone returns a rank of another node that died and was not returned before.
func (d *Driver) Gone() (rank uint32, ok bool) {
	count := d.img.GoneCount()
	if count == d.seenGone {
		return 0, false
	}
	for rank := range d.img.Active() {
		if p := d.peer(rank); p != nil && p.unreported() {
			p.reported = true
			return rank, true
		}
	}
	d.seenGone = count
	return 0, false
}

// Cause returns why nothing is exchanged with a rank of another node any more: ErrGone, ErrClosed,
// ErrFlow, or nil.
func (d *Driver) Cause(rank uint32) error {
	_, err := d.open(rank)
	return err
}

// sendEnd answers a peer that sends to a context that has ended.
func (d *Driver) sendEnd(p *peer, state uint32) {
	how := link.EndDied
	if state == abi.StateClosed {
		how = link.EndClosed
	}
	d.put(p, link.Head{Kind: link.End, Status: how})
	d.port.Flush()
}

// Announce tells all peers with which there was any exchange that this context has ended. A peer
// that misses it gets the same answer when it sends.
func (d *Driver) Announce(how uint8) {
	for _, p := range d.peers {
		if p != nil && !p.address.None() && !p.send.Failed() {
			d.put(p, link.Head{Kind: link.End, Status: how})
		}
	}
	d.port.Flush()
}
