package peertransport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"score/scored/api/identity/pki"
	"sync"
	"time"
)

// Protocol identifies the streams of replicas in the TLS handshake (ALPN, RFC 7301).
const Protocol = "score-replica/1"

// ErrImpostor means that another server answers at the address.
var ErrImpostor = errors.New("another server answers at this address")

// Transport holds one server's connections to the others. It implements replica.Network.
type Transport struct {
	credentials *pki.Credentials
	address     net.Addr
	arrived     chan net.Conn
	closed      chan struct{}
	once        sync.Once

	mu   sync.Mutex
	open map[*stream]struct{} // nil when closed
}

// New makes the transport of the server whose credentials these are; address is what Addr gives.
func New(credentials *pki.Credentials, address net.Addr) *Transport {
	return &Transport{
		credentials: credentials, address: address,
		arrived: make(chan net.Conn), closed: make(chan struct{}), open: make(map[*stream]struct{}),
	}
}

// Serve accepts streams from the listener until the listener or the transport is closed.
func (t *Transport) Serve(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		kept, err := t.keep(conn)
		if err != nil {
			return err
		}
		select {
		case t.arrived <- kept:
		case <-t.closed:
			kept.Close()
			return net.ErrClosed
		}
	}
}

// Accept implements net.Listener.
func (t *Transport) Accept() (net.Conn, error) {
	select {
	case conn := <-t.arrived:
		return conn, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (t *Transport) Addr() net.Addr { return t.address }

// Dial implements replica.Network.
func (t *Transport) Dial(name, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := t.dial(ctx, name, address, Protocol)
	if err != nil {
		return nil, err
	}
	return t.keep(conn)
}

// dial connects with one server and no other.
func (t *Transport) dial(ctx context.Context, name, address, protocol string) (net.Conn, error) {
	conn, err := t.credentials.Dial(ctx, address, protocol, pki.Server)
	if err != nil {
		return nil, err
	}
	state := conn.ConnectionState()
	peer, err := pki.PeerOf(&state)
	if err == nil && peer.Name != name {
		err = fmt.Errorf("%w: at %s is %s, and %s was meant; correct server.advertise of one of them", ErrImpostor, address, peer, name)
	}
	if err != nil {
		_ = conn.Close() // it was never used
		return nil, err
	}
	return conn, nil
}

// Close implements net.Listener: it ends all streams, too.
func (t *Transport) Close() error {
	t.once.Do(func() { close(t.closed) })
	t.mu.Lock()
	open := t.open
	t.open = nil
	t.mu.Unlock()
	for s := range open {
		s.Conn.Close()
	}
	return nil
}

// stream is a connection that ends with the transport.
type stream struct {
	net.Conn
	transport *Transport
}

func (t *Transport) keep(conn net.Conn) (net.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	s := &stream{conn, t}
	t.open[s] = struct{}{}
	return s, nil
}

// Close implements net.Conn.
func (s *stream) Close() error {
	s.transport.mu.Lock()
	delete(s.transport.open, s)
	s.transport.mu.Unlock()
	return s.Conn.Close()
}
