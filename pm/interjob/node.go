package interjob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// MaxFrame is the length of the longest message in bytes: that of a channel with the headers of
	// the layers above, and some room for their next versions.
	MaxFrame = 66 << 10
	// maxIn bounds the messages that have arrived and were not polled, of all peers together.
	// Senders then wait in the kernel.
	maxIn = 64
	// maxStrangers bounds the connections that have not authenticated yet. The next wait in the
	// kernel's queue.
	maxStrangers = 32
	// readyPause is how often Ready looks for connections, by a system call: a rank that waits for
	// peers of its own job sleeps up to ten thousand times a second.
	readyPause = time.Millisecond
	// closeTimeout bounds how long Close waits until the kernel has taken the last messages.
	closeTimeout = 2 * time.Second
)

// Errors of sending.
var (
	ErrFull   = errors.New("interjob: too much is under way to the rank")
	ErrClosed = errors.New("interjob: closed")
	// ErrGone is wrapped by the end of a peer: it ended, or it cannot be reached.
	ErrGone = errors.New("the rank of another job is gone")
)

// identity is a rank among all jobs.
type identity struct {
	job  uint64
	rank uint32
}

// Node is this rank as ranks of other jobs see it.
type Node struct {
	self     Address
	listener *listener
	wake     func()
	in       chan Frame
	spare    chan []byte
	polls    int
	looked   time.Time // when Ready last looked for connections

	ctx   context.Context // ends with the node; connections end with it
	end   context.CancelFunc
	tasks sync.WaitGroup
	sends sync.WaitGroup // of tasks, those that send

	mu      sync.Mutex
	peers   []*Peer
	known   map[identity]*Peer
	closing bool
}

// Frame is a message, or the end of a peer: then Err is not nil. It is valid until released.
type Frame struct {
	Peer *Peer
	Data []byte
	Err  error
	Last bool // of an end: nothing of the peer comes any more
	node *Node
}

// Listen makes a node of this rank, which is reached at the host of self by a port of the system's
// choice. Job and Rank of self are its own.
func Listen(self Address, host netip.Addr, wake func()) (*Node, error) {
	l, err := listen(host)
	if err != nil {
		return nil, fmt.Errorf("interjob: %w", err)
	}
	_, _ = rand.Read(self.Key[:]) // it never fails
	self.At = netip.AddrPortFrom(host, l.port)
	ctx, end := context.WithCancel(context.Background())
	return &Node{
		self: self, listener: l, wake: wake, in: make(chan Frame, maxIn), spare: make(chan []byte, maxIn),
		ctx: ctx, end: end, known: map[identity]*Peer{},
	}, nil
}

// Address returns the node's own address.
func (n *Node) Address() Address { return n.self }

// Peer returns the peer of an address, the same one for the same rank. The error is ErrAddress.
func (n *Node) Peer(a Address) (*Peer, error) {
	if !a.At.IsValid() || a.Job == n.self.Job {
		return nil, ErrAddress
	}
	n.Expect()
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peerLocked(identity{a.Job, a.Rank})
	if p.address == (Address{}) {
		p.address = a
	}
	if p.address != a {
		return nil, fmt.Errorf("%w: rank %d of job %d had another one", ErrAddress, a.Rank, a.Job)
	}
	return p, nil
}

func (n *Node) peerLocked(id identity) *Peer {
	p := n.known[id]
	if p == nil {
		p = &Peer{node: n, id: id, number: len(n.peers)}
		n.known[id] = p
		n.peers = append(n.peers, p)
	}
	return p
}

// Poll takes the next message, or the end of a peer.
func (n *Node) Poll() (Frame, bool) {
	select {
	case f := <-n.in:
		return f, true
	default:
	}
	if n.polls++; n.polls%acceptEvery == 0 {
		n.acceptOnce()
	}
	return Frame{}, false
}

// Due reports whether Poll has something to do. If not, it is as good as a call of Poll.
func (n *Node) Due() bool {
	if len(n.in) > 0 || (n.polls+1)%acceptEvery == 0 {
		return true
	}
	n.polls++
	return false
}

// Ready reports whether Poll has something to return. It also looks for connections, once in
// readyPause.
func (n *Node) Ready() bool {
	if len(n.in) == 0 && time.Since(n.looked) >= readyPause {
		n.looked = time.Now()
		n.acceptOnce()
	}
	return len(n.in) > 0
}

// push queues a frame for Poll. It is false if the node is closed.
func (n *Node) push(f Frame) bool {
	f.node = n
	select {
	case n.in <- f:
		n.wake()
		return true
	case <-n.ctx.Done():
		return false
	}
}

// buffer returns memory of a length, up to MaxFrame.
func (n *Node) buffer(length int) []byte {
	select {
	case b := <-n.spare:
		return b[:length]
	default:
		return make([]byte, length, MaxFrame)
	}
}

func (n *Node) recycle(b []byte) {
	select {
	case n.spare <- b:
	default:
	}
}

// Release gives the frame's memory back.
func (f Frame) Release() {
	if f.Data != nil {
		f.node.recycle(f.Data)
	}
}

// follow closes the connection at the end of the node. The function it returns ends that.
func (n *Node) follow(c net.Conn) (stop func() bool) {
	return context.AfterFunc(n.ctx, func() { _ = c.Close() })
}

// Close sends what was committed, as far as the kernel takes it in time, ends all connections, and
// waits for the node's goroutines.
func (n *Node) Close() error {
	n.mu.Lock()
	peers, again := n.peers, n.closing
	n.closing = true
	n.mu.Unlock()
	if again {
		return ErrClosed
	}
	late := time.AfterFunc(closeTimeout, n.end)
	defer late.Stop()
	for _, p := range peers {
		p.finish()
	}
	n.sends.Wait()
	n.end()
	err := n.listener.close()
	n.tasks.Wait()
	return err
}
