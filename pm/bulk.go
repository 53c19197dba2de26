package pm

import (
	"errors"
	"score/channels/link"
	"score/channels/link/ports"
)

// minBulkFrame is the shortest payload for which bulk datagrams are worth a call each: half a jumbo
// frame. On narrower paths the channel is faster, where the kernel cuts and joins many datagrams in
// one call.
const minBulkFrame = 4 << 10

// Bulk carries long transfers between this rank and those of other nodes, without copies: the
// kernel takes the bytes of a datagram from the memory of one program and puts them into that of
// the other. Datagrams may be lost; Bulk does not send them again. It belongs to the channel and to
// its goroutine. It needs no driver lock. The agent may have opened the socket but does not use it:
// what comes while the process is frozen waits there.
type Bulk struct {
	c        *Channel
	port     link.Bulk
	head     link.BulkHead // of the datagram that Next returned
	raw      [link.BulkBytes]byte
	expected bool
}

// Frame is a part of a transfer.
type Frame struct {
	Rank  int    // of the sender, or of the receiver
	Call  uint32 // the receiver's number of the transfer
	Token uint32 // tells transfers apart that had the same number
	At    uint64 // where in the transfer its bytes belong
}

// OpenBulk returns the channel's Bulk, made at the first call; nil if the rank has no peers on
// other nodes, or the system does not let it have one.
func (c *Channel) OpenBulk() *Bulk {
	n := c.net
	if n == nil || c.closed {
		return nil
	}
	if n.bulk == nil {
		port, err := n.openBulk(c)
		if err != nil {
			return nil
		}
		n.bulk = &Bulk{c: c, port: link.WithBulkFaults(port, c.process.settings.Faults)}
	}
	return n.bulk
}

// openBulk prefers a socket of the agent, whose queues may be longer than this user's.
func (n *network) openBulk(c *Channel) (link.Bulk, error) {
	if socket, err := c.process.client.Bulk(c.img.Channel); err == nil {
		port, err := ports.OpenBulk(n.port, socket)
		if err == nil {
			return port, nil
		}
		socket.Close()
	}
	return ports.OpenBulk(n.port, nil)
}

// Port is where peers send to.
func (b *Bulk) Port() uint16 { return b.port.Port() }

// Room returns how many bytes may be under way to this rank.
func (b *Bulk) Room() int { return b.port.Room() }

// Waiting returns how many bytes wait to be taken, about.
func (b *Bulk) Waiting() int { return b.port.Waiting() }

// MaxFrame returns how many bytes a frame to the rank carries; 0 if the way to it is too narrow for
// bulk datagrams.
func (b *Bulk) MaxFrame(rank int) int {
	size := b.port.Size(b.host(rank))
	if size < minBulkFrame {
		return 0
	}
	return size - link.BulkBytes
}

// host is the directory of the rank's node.
func (b *Bulk) host(rank int) link.Address {
	where := b.c.net.where
	return where.Directory(where.Node(uint32(rank)))
}

// Send sends a frame of at least one byte to the port of a rank on another node. Bytes that are
// lasting must stay as they are until the rank has them or does not want them any more: the system
// may read them so late. The error is ErrFull if the system accepts nothing now, ErrFault if the
// bytes are not in the process's memory, and ErrTooLarge if there are more than MaxFrame.
func (b *Bulk) Send(f Frame, port uint16, data []byte, lasting bool) error {
	h := link.BulkHead{
		Job: b.c.img.Job, Channel: b.c.img.Channel, From: b.c.img.Rank, To: uint32(f.Rank),
		Call: f.Call, Token: f.Token, Size: uint32(len(data)), At: f.At,
	}
	if b.port.Summed() {
		h.Summed, h.Sum = true, link.BulkSum(data)
	}
	h.Put(&b.raw)
	err := b.port.Send(b.host(f.Rank).WithPort(port), &b.raw, data, lasting)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, link.ErrBusy):
		return ErrFull
	case errors.Is(err, link.ErrMemory):
		return ErrFault
	default:
		return ErrTooLarge
	}
}

// Fit returns how many of the bytes the next frame to a rank should carry.
func (b *Bulk) Fit(rank int, data []byte) int { return b.port.Fit(b.host(rank), data) }

// Ahead names the bytes of the next frames, in order; none before anything else becomes of the
// bytes.
func (b *Bulk) Ahead(rank int, data []byte) { b.port.Ahead(b.host(rank), data) }

// Next returns the next frame, of n bytes, and leaves it in the socket. Take must follow.
func (b *Bulk) Next() (f Frame, n int, ok bool) {
	for {
		from, head, ok := b.port.Peek()
		if !ok {
			return f, 0, false
		}
		h, err := link.ParseBulk(head)
		if err == nil && b.mine(&h) && b.host(int(h.From)).Host() == from.Host() {
			b.head = h
			return Frame{Rank: int(h.From), Call: h.Call, Token: h.Token, At: h.At}, int(h.Size), true
		}
		_, _ = b.port.Take(nil) // nobody waits for this frame
	}
}

// mine reports whether a datagram is for this rank and from a peer on another node.
func (b *Bulk) mine(h *link.BulkHead) bool {
	img := b.c.img
	return h.Job == img.Job && h.Channel == img.Channel && h.To == img.Rank && int(h.From) < b.c.Size() && !b.c.SameNode(int(h.From))
}

// Take receives the frame that Next returned into place, which has its length; an empty place drops
// it. It returns false if the frame was damaged: the contents of place are then undefined. The
// error is ErrFault if place is not in the process's memory.
func (b *Bulk) Take(place []byte) (whole bool, err error) {
	n, err := b.port.Take(place)
	if err != nil {
		return false, ErrFault
	}
	return n == len(place) && n == int(b.head.Size) && (!b.head.Summed || link.BulkSum(place) == b.head.Sum), nil
}

// Expect sets whether the caller waits for frames. If it does, the channel's Wait returns when one
// comes.
func (b *Bulk) Expect(on bool) {
	if b.expected == on {
		return
	}
	b.expected = on
	b.c.net.watcher.bulk = -1
	if on {
		b.c.net.watcher.bulk = b.port.Descriptor()
	}
}

// readable reports whether a datagram can be received.
func (b *Bulk) readable() bool {
	_, _, ok := b.port.Peek()
	return ok
}
