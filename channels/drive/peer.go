package drive

import (
	"score/channels"
	"score/channels/link"
	"score/flowctl"
)

// peer is a rank on another node: its state in the image, and what the driver
// remembers of it.
type peer struct {
	rank uint32
	send *flowctl.Sender   // in the image
	recv *flowctl.Receiver // in the image

	directory link.Address // of its node
	address   link.Address // of its context; none: not known yet
	sending   link.Address // where datagrams come from that say StatusSendOnly
	size      int          // of the longest datagram to its node
	lookup    lookup
	cursor    cursor

	touched   bool
	acked     bool // messages may have been acknowledged that are not freed
	waits     bool // it was refused and waits for Ready
	reported  bool // its end was reported to the process
	lines     uint64
	left      uint32 // frames to come of the message that is arriving
	lastFrame int64  // when its last frame came
}

// peer returns the peer of a rank, made at the first call; nil if the rank is not on another node.
func (d *Driver) peer(rank uint32) *peer {
	if rank >= uint32(len(d.peers)) {
		return nil
	}
	if p := d.peers[rank]; p != nil {
		return p
	}
	if _, local := d.img.Place(rank); local {
		return nil
	}
	send, recv, err := d.img.Flow(rank)
	if err != nil {
		return nil
	}
	directory := d.where.Directory(d.where.Node(rank))
	p := &peer{rank: rank, directory: directory, send: send, recv: recv, size: d.port.Size(directory), lines: 1, acked: true}
	p.lookup.at = flowctl.NoDeadline
	d.peers[rank] = p
	return p
}

// forget drops what another driver may have made untrue.
func (p *peer) forget() {
	p.cursor = cursor{}
	p.acked = true // the last driver may have left it to the next section
	p.waits = false
	p.left = 0
}

// unsettled reports whether something sent to the peer is not acknowledged.
func (p *peer) unsettled() bool { return !p.send.Failed() && p.send.End() != p.send.Acked() }

// unflushed reports whether Flush, Flushed or Resume have something to do with the peer: a
// transmission is not answered, though another copy of its frames may be, or its flush is not over.
func (p *peer) unflushed() bool {
	return !p.send.Failed() && (!p.send.Flushed() || p.send.Flushing())
}

// lost reports whether the peer was declared dead. What still comes from it is dropped: without its
// dropped head the rest of a message is useless.
func (p *peer) lost() bool { return p.send.Failed() && !p.send.Closed() }

// unreported reports whether the peer died and this driver has not told the process. Such a peer
// stays active, since the other driver may be the one that the process asks.
func (p *peer) unreported() bool { return p.lost() && !p.reported }

// cursor is the position of the frame that was last looked up in the send buffer.
type cursor struct {
	kept   channels.Kept // 0: none
	first  flowctl.Seq
	frames uint32
	data   []byte
	piece  int // bytes of each frame but the last
}

// end returns one past the message's last frame.
func (c *cursor) end() flowctl.Seq { return c.first + flowctl.Seq(c.frames) }

// pieces returns how a message is cut: the number of frames, and the bytes of each but the last.
// The cut follows from the number of frames alone, so a driver that sends a frame again cuts in the
// same way.
func pieces(length, maxPiece int) (frames uint32, piece int) {
	if length <= maxPiece {
		return 1, length
	}
	n := (length + maxPiece - 1) / maxPiece
	return uint32(n), cut(length, uint32(n))
}

func cut(length int, frames uint32) int { return (length + int(frames) - 1) / int(frames) }

// frame finds a frame in the send buffer: its bytes, the length of its message, and
// whether it is the message's first. The error is ErrDamaged: the image contradicts itself.
func (d *Driver) frame(p *peer, seq flowctl.Seq) (data []byte, total int, start bool, err error) {
	c := &p.cursor
	if c.kept == 0 || uint32(seq-c.first) >= c.frames {
		if err := d.seek(p, seq); err != nil {
			return nil, 0, false, err
		}
	}
	i := int(seq - c.first)
	from, to := i*c.piece, min((i+1)*c.piece, len(c.data))
	if from > to {
		return nil, 0, false, channels.ErrDamaged
	}
	return c.data[from:to], len(c.data), i == 0, nil
}

// seek moves the cursor to the message that has the frame: the next one, as a rule.
func (d *Driver) seek(p *peer, seq flowctl.Seq) (err error) {
	c := &p.cursor
	var k channels.Kept
	if c.kept != 0 && seq == c.end() {
		k, err = d.buf.Next(c.kept)
	} else {
		k, err = d.buf.Oldest(p.rank)
	}
	for steps := d.buf.Messages(); err == nil && k != 0 && steps > 0; steps-- {
		first, frames, ferr := d.buf.Frames(k)
		if ferr != nil {
			err = ferr
			break
		}
		if uint32(seq-first) < frames {
			return d.at(c, k, first, frames)
		}
		k, err = d.buf.Next(k)
	}
	*c = cursor{}
	if err == nil {
		err = channels.ErrDamaged
	}
	return err
}

func (d *Driver) at(c *cursor, k channels.Kept, first flowctl.Seq, frames uint32) error {
	data, err := d.buf.Bytes(k)
	if err != nil {
		*c = cursor{}
		return err
	}
	*c = cursor{kept: k, first: first, frames: frames, data: data, piece: cut(len(data), frames)}
	return nil
}

// free frees what the peer has taken.
func (d *Driver) free(p *peer) {
	p.acked = false
	acked := p.send.Acked()
	if c := &p.cursor; c.kept != 0 && !acked.Before(c.end()) {
		*c = cursor{} // its memory may be another message's next
	}
	freed, err := d.buf.Acknowledged(p.rank, acked)
	if err != nil {
		d.failPeer(p, err)
	}
	d.freed = d.freed || freed > 0
}
