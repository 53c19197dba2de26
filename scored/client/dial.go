package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// socketDialer dials the sockets whatever the URL says: the server's, then the agent's.
type socketDialer struct {
	sockets []string
	// triedAgent is set, for good, before a socket other than the first is dialed: from then on a
	// connection may lead to the agent.
	triedAgent atomic.Bool

	mu    sync.Mutex
	first net.Conn // handed out once
}

// newSocketDialer takes over first, a connection that is already there, if any.
func newSocketDialer(sockets []string, first net.Conn) *socketDialer {
	d := &socketDialer{sockets: sockets, first: first}
	if first != nil && first.RemoteAddr().String() != sockets[0] {
		d.triedAgent.Store(true)
	}
	return d
}

// dial takes the context of the call that needs the connection.
func (d *socketDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	d.mu.Lock()
	first := d.first
	d.first = nil
	d.mu.Unlock()
	if first != nil {
		return first, nil
	}
	conn, err := dialFirst(ctx, d.sockets[:1])
	if err == nil || !isGone(err) || len(d.sockets) == 1 || ctx.Value(serverOnly{}) != nil {
		return conn, err
	}
	d.triedAgent.Store(true)
	return dialFirst(ctx, d.sockets)
}

// dialFirst connects to the first of the sockets at which somebody listens. The error is that of
// the very first.
func dialFirst(ctx context.Context, sockets []string) (conn net.Conn, err error) {
	for i, socket := range sockets {
		conn, dialErr := dialSocket(ctx, socket)
		if dialErr == nil {
			return conn, nil
		}
		if i == 0 {
			err = dialErr
		}
		if !isGone(dialErr) {
			break
		}
	}
	return nil, err
}

// queuePause is the time between two tries to connect to a socket whose queue is full. The daemon
// accepts tens of connections meanwhile, and who tries seldom finds others in their place.
const queuePause = time.Millisecond

// errQueueFull means that programs connect faster than the daemon accepts.
var errQueueFull = errors.New("the queue of connections to the cluster's daemon is full: try again")

// dialSocket connects to a socket. While its queue is full, the kernel makes programs that connect
// wait, but refuses Go's sockets, which do not wait; so they try again.
func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	dialer := net.Dialer{Deadline: time.Now().Add(dialTimeout)}
	for {
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}
		if time.Now().After(dialer.Deadline.Add(-queuePause)) {
			return nil, errQueueFull
		}
		select {
		case <-time.After(queuePause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
