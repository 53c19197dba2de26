package interjob

import (
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxOut bounds the messages under way to a peer.
	maxOut = 16
	// dialTimeout bounds the time to connect to a peer.
	dialTimeout = 10 * time.Second
)

// Peer is a rank of another job.
type Peer struct {
	node      *Node
	id        identity
	number    int
	address   Address // none: the peer is known, but not its address
	connected bool    // it has connected; guarded by the node's mu

	out      chan []byte // nil before the first message
	reserved []byte
	failed   atomic.Pointer[error]
	once     sync.Once // its end is reported
}

// Number counts the node's peers from 0, in the order in which they became known.
func (p *Peer) Number() int { return p.number }

// Err is not nil once nothing can be sent to the peer any more.
func (p *Peer) Err() error {
	if err := p.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Named reports whether Node.Peer was called for the peer. Nothing can be sent to a peer before
// that.
func (p *Peer) Named() bool { return p.address != Address{} }

// Room reports whether Reserve would succeed, or fail for another reason than want of room.
func (p *Peer) Room() bool { return len(p.out) < maxOut || p.Err() != nil }

// Reserve returns the place of a message of n bytes, to be filled and then sent by Commit. The
// error is ErrFull, also while the peer is not named, or why it is gone.
func (p *Peer) Reserve(n int) ([]byte, error) {
	switch {
	case p.Err() != nil:
		return nil, p.Err()
	case !p.Named() || !p.Room():
		return nil, ErrFull
	}
	p.recycle()
	p.reserved = p.node.buffer(n)
	return p.reserved, nil
}

// Commit sends the message that Reserve began.
func (p *Peer) Commit() error {
	if err := p.start(); err != nil {
		return err
	}
	p.out <- p.reserved // there is room: only this goroutine sends
	p.reserved = nil
	return nil
}

// recycle gives back what was reserved and not sent.
func (p *Peer) recycle() {
	if p.reserved != nil {
		p.node.recycle(p.reserved)
		p.reserved = nil
	}
}

func (p *Peer) start() error {
	if p.out != nil {
		return nil
	}
	p.node.mu.Lock()
	defer p.node.mu.Unlock()
	if p.node.closing {
		return ErrClosed
	}
	p.out = make(chan []byte, maxOut)
	p.node.sends.Go(p.deliver)
	return nil
}

// finish ends sending after what was committed.
func (p *Peer) finish() {
	if p.out != nil {
		close(p.out)
	}
}

// deliver dials the peer, and sends until finish.
func (p *Peer) deliver() {
	err := p.deliverAll()
	if err == nil {
		return
	}
	p.fail(err)
	for b := range p.out {
		p.node.recycle(b)
	}
}

func (p *Peer) deliverAll() error {
	dialer := net.Dialer{Timeout: dialTimeout}
	c, err := dialer.DialContext(p.node.ctx, "tcp", p.address.At.String())
	if err != nil {
		return err
	}
	defer c.Close()
	defer p.node.follow(c)()
	if err := introduce(c, p.node.self, p.address); err != nil {
		return err
	}
	p.node.tasks.Go(func() { p.watch(c) })
	for data := range p.out {
		var head [lengthBytes]byte
		binary.LittleEndian.PutUint32(head[:], uint32(len(data)))
		parts := net.Buffers{head[:], data}
		if _, err := parts.WriteTo(c); err != nil {
			return err
		}
		p.node.recycle(data)
		p.node.wake() // there is room
	}
	return c.(*net.TCPConn).CloseWrite()
}

// watch waits for the end of the peer, which sends nothing on a connection that it accepted.
func (p *Peer) watch(c net.Conn) {
	var nothing [1]byte
	_, err := c.Read(nothing[:])
	p.fail(err)
}

// fail reports the end of the peer once.
func (p *Peer) fail(err error) {
	p.once.Do(func() {
		err = gone(p, err)
		p.failed.Store(&err)
		p.node.mu.Lock()
		closing := p.node.closing
		p.node.mu.Unlock()
		if !closing {
			p.node.push(Frame{Peer: p, Err: err})
		}
	})
}
