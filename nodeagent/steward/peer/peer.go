package peer

import (
	"errors"
	"fmt"
	"io"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/wire"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// keepOut is the largest write buffer kept once it is empty, in bytes.
const keepOut = 1 << 20

// Peer is one connection to the steward's socket, in one loop.
type Peer struct {
	loop     *loop.Loop
	tag      loop.Tag
	fd       int
	in       wire.Decoder
	out      []byte
	sent     int // of out
	interest uint32
	rights   *rights // of a connection on which descriptors come; nil: none do
}

// New returns the peer with this number at a connection, which does not block. The number is the
// index in its events' tags.
func New(number int32, fd int) *Peer { return &Peer{tag: loop.Tag{Index: number}, fd: fd} }

// Number returns the number that New got.
func (p *Peer) Number() int32 { return p.tag.Index }

// Join gives the peer to a loop, which watches it as of this kind.
func (p *Peer) Join(l *loop.Loop, kind loop.Kind) error {
	p.loop, p.tag.Kind = l, kind
	p.interest = unix.EPOLLIN
	return l.Watch(p.fd, p.interest, p.tag)
}

// Leave removes the peer from its loop; the connection stays open.
func (p *Peer) Leave() { p.loop.Unwatch(p.fd) }

// Close ends the connection.
func (p *Peer) Close() {
	if p.rights != nil {
		p.rights.close()
	}
	loop.CloseFD(p.fd)
	p.fd = -1
}

// Receive reads once, for Next. It returns io.EOF when the other side has hung up.
func (p *Peer) Receive() error {
	n, err := p.read(p.in.Space())
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return fmt.Errorf("reading from the agent: %w", err)
	case n == 0:
		return io.EOF
	}
	p.in.Filled(n)
	return nil
}

func (p *Peer) read(b []byte) (int, error) {
	if p.rights != nil {
		return p.rights.read(p.fd, b)
	}
	return unix.Read(p.fd, b)
}

// Next decodes the next message that has arrived whole into m.
func (p *Peer) Next(m proto.Message) (bool, error) {
	body, err := p.in.Next()
	if err != nil || body == nil {
		return false, err
	}
	if err := proto.Unmarshal(body, m); err != nil {
		return false, fmt.Errorf("reading a message: %w", err)
	}
	return true, nil
}

// Queue adds a message to what Flush writes.
func (p *Peer) Queue(m proto.Message) error {
	out, err := wire.Append(p.out, m)
	if err != nil {
		return err
	}
	p.out = out
	return nil
}

// QueueFrame adds a message that was framed before.
func (p *Peer) QueueFrame(frame []byte) { p.out = append(p.out, frame...) }

// Unsent returns how many bytes wait for the other side to read.
func (p *Peer) Unsent() int { return len(p.out) - p.sent }

// Flush writes what the socket takes, and waits for EPOLLOUT with the rest.
func (p *Peer) Flush() error {
	for p.Unsent() > 0 {
		n, err := unix.SendmsgN(p.fd, p.out[p.sent:], nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) {
			p.compact()
			return p.want(p.interest | unix.EPOLLOUT)
		}
		if err != nil {
			return fmt.Errorf("writing to the agent: %w", err)
		}
		p.sent += n
	}
	p.sent, p.out = 0, p.out[:0]
	if cap(p.out) > keepOut {
		p.out = nil
	}
	return p.want(p.interest &^ unix.EPOLLOUT)
}

// compact drops what was sent from the buffer, so that it does not grow.
func (p *Peer) compact() {
	if p.sent < len(p.out)/2 {
		return
	}
	p.out = p.out[:copy(p.out, p.out[p.sent:])]
	p.sent = 0
}

// want sets which events are reported for the peer.
func (p *Peer) want(interest uint32) error {
	if interest == p.interest {
		return nil
	}
	p.interest = interest
	return p.loop.ChangeWatch(p.fd, interest, p.tag)
}

// PauseReading applies back-pressure to the sender.
func (p *Peer) PauseReading() error { return p.want(p.interest &^ unix.EPOLLIN) }

// ResumeReading ends PauseReading.
func (p *Peer) ResumeReading() error { return p.want(p.interest | unix.EPOLLIN) }
