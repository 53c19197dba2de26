package drive

import (
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
)

// Reserve takes space for a message to a rank on another node, to be filled and committed.
// Errors are those of SendBuffer.Reserve, ErrRank, ErrGone, ErrClosed and ErrFlow.
func (d *Driver) Reserve(rank uint32, length int) (channels.Kept, []byte, error) {
	if _, err := d.open(rank); err != nil {
		return 0, nil, err
	}
	return d.buf.Reserve(length)
}

// open is the peer, if messages to it make sense.
func (d *Driver) open(rank uint32) (*peer, error) {
	p := d.peer(rank)
	switch {
	case p == nil:
		return nil, channels.ErrRank
	case !p.send.Failed():
		return p, nil
	case p.send.Closed():
		return nil, channels.ErrClosed
	case p.send.Mismatched():
		return nil, channels.ErrFlow
	default:
		return nil, channels.ErrGone
	}
}

// Abandon gives back what Reserve took. An error is damage by the rank, to its own messages.
func (d *Driver) Abandon(k channels.Kept) { _ = d.buf.Free(k) }

// Commit sends a message that was reserved and filled.
func (d *Driver) Commit(rank uint32, k channels.Kept, now int64) error {
	d.now = now
	p, err := d.open(rank)
	if err != nil {
		d.Abandon(k)
		return err
	}
	data, err := d.buf.Bytes(k)
	if err != nil {
		return err
	}
	frames, piece := pieces(len(data), d.frameBytes(p))
	return d.enqueue(p, k, data, frames, piece)
}

// enqueue sends the message k, which is complete, after all others to the peer.
func (d *Driver) enqueue(p *peer, k channels.Kept, data []byte, frames uint32, piece int) error {
	if err := d.buf.Append(p.rank, k, p.send.End(), frames); err != nil {
		return err
	}
	if p.send.Unsent() == 0 { // it is sent next
		p.cursor = cursor{kept: k, first: p.send.End(), frames: frames, data: data, piece: piece}
	}
	p.send.Queue(frames)
	d.send(p)
	d.port.Flush()
	return nil
}

// Send sends a copy of data. With immediate, the first frames of a long message
// leave while the last are still being copied.
func (d *Driver) Send(rank uint32, data []byte, immediate bool, now int64) error {
	k, to, err := d.Reserve(rank, len(data))
	if err != nil {
		return err
	}
	p := d.peers[rank]
	frames, piece := pieces(len(data), d.frameBytes(p))
	if frames == 1 || !immediate {
		copy(to, data)
		d.now = now
		return d.enqueue(p, k, to, frames, piece)
	}
	d.now = now
	if err := d.buf.Append(rank, k, p.send.End(), frames); err != nil {
		return err
	}
	for i := range int(frames) {
		end := min((i+1)*piece, len(data))
		copy(to[i*piece:end], data[i*piece:end])
		p.send.Queue(1)
		d.send(p)
		d.port.Flush()
	}
	return nil
}

// Space reports whether a message of the length to the rank would be taken now: nil, or
// the error of Reserve.
func (d *Driver) Space(rank uint32, length int) error {
	if _, err := d.open(rank); err != nil {
		return err
	}
	return d.buf.Space(length)
}

// frameBytes returns the longest frame to the peer: as long as the path takes, since each frame
// costs both ends as much as some 20 KiB do, and overlapping copies save no more than that. With
// credits each message is one frame, which goes in fragments on a path too narrow for it.
func (d *Driver) frameBytes(p *peer) int {
	if d.credit != nil {
		return int(d.img.Geometry().MaxMessage)
	}
	return p.size - headBytes
}

// headBytes are the bytes of a datagram with one frame that are not payload.
const headBytes = link.HeadBytes + link.FrameBytes + link.TotalBytes

// send transmits what the peer's flow control allows, and the answers due.
func (d *Driver) send(p *peer) {
	switch {
	case !p.send.Sendable(&d.flow) && !p.recv.Due():
		p.lookup.at = flowctl.NoDeadline // a flush has begun: nobody needs the address now
	case p.address.None():
		d.requestAddress(p)
	default:
		d.transmitAll(p)
	}
	d.schedule(p)
}

func (d *Driver) transmitAll(p *peer) {
	for i := 0; ; i++ {
		if i == maxSends { // a process that changes the state while the agent reads it
			d.due = d.now
			break
		}
		b := p.send.Send(&d.flow, d.now, maxFrames)
		if b.Empty() {
			break
		}
		if b.Want {
			d.img.AddCounter(abi.CreditRequests, 1)
		}
		if b.Count == 0 {
			d.put(p, link.Head{Kind: link.Ask, Data: b.Data(0)})
			continue
		}
		d.frames += uint64(b.Count)
		if b.Again != 0 {
			d.img.AddCounter(abi.Resent, uint64(b.Again))
		}
		if err := d.transmit(p, b); err != nil {
			d.failPeer(p, err)
			return
		}
		if p.send.Unsent() == 0 {
			break
		}
	}
	if p.recv.Due() {
		d.put(p, link.Head{Kind: link.Answer})
	}
}

// transmit sends a burst, with as many frames in each datagram as fit.
func (d *Driver) transmit(p *peer, b flowctl.Burst) error {
	size := p.size
	for i := uint32(0); i < b.Count; {
		head := d.head(p, link.Head{Kind: link.Data, Data: b.Data(i), Guarded: d.guards(p, size)})
		d.writer.Begin(d.port.Buffer(), size, &head)
		from, wide := i, 0
		for ; i < b.Count; i++ {
			data, total, start, err := d.frame(p, b.First+flowctl.Seq(i))
			if err != nil {
				return err
			}
			if !d.add(total, start, data) {
				wide = len(data) + headBytes
				break
			}
		}
		if i == from && size < wide && wide <= link.MaxDatagram {
			size = wide // it was cut by a driver that knew a wider path, and goes in fragments
			continue
		}
		if i == from {
			return channels.ErrDamaged // a frame longer than any we make
		}
		d.queue(p, head.Status, d.writer.Finish(b.Data(i-1).Mark))
	}
	return nil
}

// guards reports whether the transport guards the bytes of a datagram of up to size bytes. It does
// not if the datagram goes in fragments: the kernel may join them with those of another datagram,
// which UDP's checksum misses one time in 65,536.
func (d *Driver) guards(p *peer, size int) bool {
	return d.guarded && size > link.LongFrame && size <= d.port.Size(p.address)
}

// add adds a frame to the datagram being written. Long data is sent straight from the send buffer,
// where it stays at least until it is acknowledged.
func (d *Driver) add(total int, start bool, data []byte) bool {
	if d.lends == nil || len(data) < link.LongFrame {
		return d.writer.Add(total, start, data)
	}
	if !d.writer.Borrow(total, start, data) {
		return false
	}
	d.lends.Borrow(data)
	return true
}

// put sends a datagram without frames.
func (d *Driver) put(p *peer, h link.Head) {
	h = d.head(p, h)
	d.writer.Begin(d.port.Buffer(), p.size, &h)
	d.queue(p, h.Status, d.writer.Finish(h.Data.Mark))
}

// queue queues a datagram of n bytes with that Status.
func (d *Driver) queue(p *peer, status uint8, n int) {
	if d.conn != nil && status == link.StatusSendOnly {
		d.conn.QueueConnected(p.address, n)
		return
	}
	d.port.Queue(p.address, n)
}

// head addresses a datagram and adds the pending answer to it.
func (d *Driver) head(p *peer, h link.Head) link.Head {
	h.Job, h.Channel, h.From, h.To = d.img.Job, d.img.Channel, d.img.Rank, p.rank
	if h.Kind <= link.Answer {
		h.Answer = d.answer(p)
		h.Flow = d.flowNumber
		if d.conn != nil && d.conn.Connected(p.address) {
			h.Status = link.StatusSendOnly
		}
	}
	return h
}
