package drive

import (
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"time"
)

// talkingFor is how long a peer counts as sharing the room after a frame of it came: some round
// trips, so that bursts of others are not refused for its sake.
const talkingFor = int64(time.Millisecond)

// input takes a datagram. Whatever is not meant for this context, or not from where the
// peer is, changes nothing.
func (d *Driver) input(from link.Address, data []byte) {
	h, frames, err := link.Parse(data)
	if err != nil && d.names != nil {
		d.inputSealed(from, data)
		return
	}
	if err != nil || h.Job != d.img.Job || h.Channel != d.img.Channel || h.To != d.img.Rank {
		return
	}
	p := d.peer(h.From)
	if p == nil {
		return
	}
	d.clock()
	if h.Kind == link.Here {
		d.onAddress(p, from, &h)
		return
	}
	if !d.comesFrom(p, from, &h) {
		return
	}
	switch h.Kind {
	case link.Data, link.Ask, link.Answer:
		d.exchange(p, &h, &frames)
	case link.End:
		d.end(p, h.Status)
	case link.Where, link.Here:
	}
}

func (d *Driver) exchange(p *peer, h *link.Head, frames *link.Frames) {
	if h.Flow != d.flowNumber {
		d.refuseFlow(p, h.Kind)
		return
	}
	if p.send.OnAnswer(&d.flow, d.now, h.Answer) > 0 {
		p.acked = true
	}
	d.touch(p)
	if h.Kind == link.Answer {
		return
	}
	if state := d.img.State(); state != abi.StateOpen {
		d.sendEnd(p, state)
		return
	}
	if p.lost() {
		return
	}
	if d.img.Away() {
		// A peer that was never active before is refused, too. It is noted for Follow first: the
		// driver may be killed before it records what came of this datagram.
		d.img.SetActive(p.rank, true)
		p.recv.Suspend(d.now)
	}
	if d.credit == nil {
		d.countActive(p)
	}
	if h.Kind == link.Ask {
		p.recv.OnAsk(&d.flow, d.now, h.Data, d.hint(p))
		return
	}
	data := h.Data
	for i := uint16(1); ; i++ {
		f, ok := frames.Next()
		if !ok {
			return
		}
		data.Mark = 0
		if i == h.Frames {
			data.Mark = h.Data.Mark
		}
		d.frameIn(p, data, f)
		data.Seq++
		data.Tx++
	}
}

// frameIn takes a frame: if its turn has come and there is room, into the inbox.
func (d *Driver) frameIn(p *peer, data flowctl.Data, f link.Frame) {
	room := d.room(p, f)
	noted := d.role == abi.RoleAgent && room > 0 && data.Seq == p.recv.Next()
	if noted {
		d.img.NoteAccepting(channels.Accepting{Rank: p.rank, Seq: data.Seq, Tail: d.in.Tail(), Got: d.in.Got(p.rank)})
	}
	switch d.takeData(p, data, room) {
	case flowctl.Accept:
		if err := d.deliver(p, f); err != nil {
			// Only a peer that contradicts itself gets here, or an image that was changed between
			// the check for room and its use.
			d.failPeer(p, err)
		}
	case flowctl.Refuse:
		d.img.AddCounter(abi.Nacked, 1)
	case flowctl.Duplicate:
	}
	if noted {
		d.img.Accepted()
	}
}

func (d *Driver) deliver(p *peer, f link.Frame) error {
	if !f.Start {
		complete, err := d.in.More(p.rank, f.Data)
		if p.left > 0 {
			p.left--
		}
		if complete {
			p.left = 0
		}
		return err
	}
	if len(f.Data) == f.Total {
		p.lines = abi.Lines(f.Total)
		return d.in.Whole(p.rank, f.Data)
	}
	frames := uint32(1)
	if len(f.Data) > 0 {
		frames = uint32((f.Total + len(f.Data) - 1) / len(f.Data))
	}
	p.lines = max(abi.Lines(f.Total)/uint64(frames), 1)
	p.left = frames - 1
	return d.in.Begin(p.rank, f.Total, f.Data)
}

// inbox begins to deliver in this section, if it has not.
func (d *Driver) inbox() bool {
	if d.inReady {
		return true
	}
	in, err := d.img.Delivery()
	if err != nil {
		return false // no memory now: refused for want of room
	}
	d.in, d.inReady = in, true
	return true
}

// room returns how many frames the inbox can take from the peer, beginning with f. For f it is
// exact: the space for a message's later frames is taken with its first.
func (d *Driver) room(p *peer, f link.Frame) uint32 {
	if !d.inbox() || f.Start && !d.in.Fits(f.Total) {
		return 0
	}
	if d.credit != nil {
		return d.places(p)
	}
	return max(d.hint(p), 1)
}

// hint returns how many frames of the peer's last size the inbox has room for; the peers that sent
// lately share it.
func (d *Driver) hint(p *peer) uint32 {
	if !d.inbox() {
		return 0
	}
	if d.credit != nil {
		return d.places(p)
	}
	share := d.in.Free() / uint64(max(d.talking, 1)) / max(p.lines, 1)
	room := p.left + uint32(min(share, 1<<15))
	if room == 0 && d.in.Got(p.rank) != 0 {
		return 1 // another driver began the message; what waits behind it fills the inbox
	}
	return room
}

// countActive counts the peer among those that share the room.
func (d *Driver) countActive(p *peer) {
	if d.now-p.lastFrame > talkingFor {
		d.talking++
	}
	p.lastFrame = d.now
	if d.now-d.counted < talkingFor {
		return
	}
	d.counted, d.talking = d.now, 0
	for rank := range d.img.Active() {
		if q := d.peers[rank]; q != nil && d.now-q.lastFrame <= talkingFor {
			d.talking++
		}
	}
	d.talking = max(d.talking, 1)
}

// offerRoom sends Ready to refused peers once a good part of the inbox is free again: a single line
// is not worth a datagram.
func (d *Driver) offerRoom() {
	if !d.inbox() || d.in.Free() < d.in.Lines()/4 || d.credit != nil && !d.offersCredits() {
		return
	}
	for rank := range d.img.Active() {
		p := d.peer(rank)
		if p == nil || !p.recv.Waits(&d.flow) {
			continue
		}
		p.recv.OnRoom(&d.flow, d.now, d.hint(p))
		d.touch(p)
	}
}

// failPeer ends the exchange with a peer for which the image, or the peer itself, says
// impossible things.
func (d *Driver) failPeer(p *peer, err error) {
	d.damage = err
	d.img.CountDamage()
	p.send.Fail()
	d.lose(p)
}
