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

// Protocol is by what the streams of replicas are known in the TLS handshake (ALPN, RFC 7301).
const Protocol = "score-replica/1"

// ErrImpostor is a server that answers where another one was to be.
var ErrImpostor = errors.New("another server answers at this address")

// Mesh holds one server's connections to the others. It implements replica.Network.
type Mesh struct {
	credentials *pki.Credentials
	address     net.Addr
	arrived     chan net.Conn
	closed      chan struct{}
	once        sync.Once

	mu   sync.Mutex
	open map[*stream]struct{} // nil when closed
}

// New makes the mesh of the server whose credentials these are; address is what Addr gives.
func New(credentials *pki.Credentials, address net.Addr) *Mesh {
	return &Mesh{
		credentials: credentials, address: address,
		arrived: make(chan net.Conn), closed: make(chan struct{}), open: make(map[*stream]struct{}),
	}
}

// Serve accepts streams from the listener until the listener or the mesh is closed.
func (m *Mesh) Serve(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		kept, err := m.keep(conn)
		if err != nil {
			return err
		}
		select {
		case m.arrived <- kept:
		case <-m.closed:
			kept.Close()
			return net.ErrClosed
		}
	}
}

// Accept implements net.Listener.
func (m *Mesh) Accept() (net.Conn, error) {
	select {
	case conn := <-m.arrived:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (m *Mesh) Addr() net.Addr { return m.address }

// Dial implements replica.Network.
func (m *Mesh) Dial(name, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := m.dial(ctx, name, address, Protocol)
	if err != nil {
		return nil, err
	}
	return m.keep(conn)
}

// dial connects with one server and no other.
func (m *Mesh) dial(ctx context.Context, name, address, protocol string) (net.Conn, error) {
	conn, err := m.credentials.Dial(ctx, address, protocol, pki.Server)
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
func (m *Mesh) Close() error {
	m.once.Do(func() { close(m.closed) })
	m.mu.Lock()
	open := m.open
	m.open = nil
	m.mu.Unlock()
	for s := range open {
		s.Conn.Close()
	}
	return nil
}

// stream is a connection that ends with the mesh.
type stream struct {
	net.Conn
	mesh *Mesh
}

func (m *Mesh) keep(conn net.Conn) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	s := &stream{conn, m}
	m.open[s] = struct{}{}
	return s, nil
}

// Close implements net.Conn.
func (s *stream) Close() error {
	s.mesh.mu.Lock()
	delete(s.mesh.open, s)
	s.mesh.mu.Unlock()
	return s.Conn.Close()
}
