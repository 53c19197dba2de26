package steward

import (
	"errors"
	"fmt"
	"io"
	"score/nodeagent/steward/wire"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// keepOut is the largest write buffer kept once it is empty, in bytes.
const keepOut = 2 * outputHighWater

// peer is one connection to the steward's socket, in one loop.
type peer struct {
	loop     *loop
	id       int32
	fd       int
	in       wire.Decoder
	out      []byte
	sent     int // of out
	interest uint32
	rights   *rights // of a connection on which descriptors come; nil: none do
}

// join registers the peer's descriptor with l, with the peer's number as index.
func (p *peer) join(l *loop) error {
	p.loop = l
	p.interest = unix.EPOLLIN
	return l.watch(p.fd, p.interest, tag{kindPeer, p.id})
}

// leave removes the peer from its loop; the connection stays open.
func (p *peer) leave() { p.loop.unwatch(p.fd) }

func (p *peer) close() {
	if p.rights != nil {
		p.rights.close()
	}
	closeFD(p.fd)
	p.fd = -1
}

// receive reads once. It returns io.EOF when the other side has hung up.
func (p *peer) receive() error {
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

func (p *peer) read(b []byte) (int, error) {
	if p.rights != nil {
		return p.rights.read(p.fd, b)
	}
	return unix.Read(p.fd, b)
}

// next decodes the next message that has arrived whole into m.
func (p *peer) next(m proto.Message) (bool, error) {
	body, err := p.in.Next()
	if err != nil || body == nil {
		return false, err
	}
	if err := proto.Unmarshal(body, m); err != nil {
		return false, fmt.Errorf("reading a message: %w", err)
	}
	return true, nil
}

// queue adds a message to what flush writes.
func (p *peer) queue(m proto.Message) error {
	out, err := wire.Append(p.out, m)
	if err != nil {
		return err
	}
	p.out = out
	return nil
}

// queueFrame adds a message that was framed before.
func (p *peer) queueFrame(frame []byte) { p.out = append(p.out, frame...) }

// unsent returns how many bytes wait for the other side to read.
func (p *peer) unsent() int { return len(p.out) - p.sent }

// flush writes what the socket takes, and waits for EPOLLOUT with the rest.
func (p *peer) flush() error {
	for p.unsent() > 0 {
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
func (p *peer) compact() {
	if p.sent < len(p.out)/2 {
		return
	}
	p.out = p.out[:copy(p.out, p.out[p.sent:])]
	p.sent = 0
}

// want sets which events are reported for the peer.
func (p *peer) want(interest uint32) error {
	if interest == p.interest {
		return nil
	}
	p.interest = interest
	return p.loop.changeWatch(p.fd, interest, tag{kindPeer, p.id})
}

// pauseReading and resumeReading apply back-pressure to the sender.
func (p *peer) pauseReading() error  { return p.want(p.interest &^ unix.EPOLLIN) }
func (p *peer) resumeReading() error { return p.want(p.interest | unix.EPOLLIN) }
