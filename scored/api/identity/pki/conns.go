package pki

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// Conn is a connection with another daemon that is closed as soon as the certificate that the
// daemon has shown is revoked: connections must not outlive the revocation.
type Conn struct {
	net.Conn
	credentials *Credentials
}

// conns are the connections on which a certificate was shown, with its serial number.
type conns struct {
	mu   sync.Mutex
	open map[*Conn]string
}

func (c *conns) add(conn *Conn, serial string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[*Conn]string)
	}
	c.open[conn] = serial
}

func (c *conns) remove(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// of returns the connections whose certificates are on a list.
func (c *conns) of(list *revoked) (found []*Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, serial := range c.open {
		if list.has(serial) {
			found = append(found, conn)
		}
	}
	return found
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.credentials.conns.remove(c)
	return c.Conn.Close()
}

// Watch takes over a connection on which the caller speaks TLS with the configuration of Config.
func (c *Credentials) Watch(raw net.Conn) *Conn { return &Conn{raw, c} }

// Config adapts a configuration of Client or Server to this connection.
func (c *Conn) Config(config *tls.Config) *tls.Config {
	config = config.Clone()
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 { // before it is verified: a later revocation closes the connection
			c.credentials.conns.add(c, state.PeerCertificates[0].SerialNumber.String())
		}
		return verify(state)
	}
	return config
}

// Revoke sets the serial numbers, as big-endian bytes, of the certificates that are not accepted
// any more, and closes the connections on which one of them was shown. It ignores numbers beyond
// MaxRevoked.
func (c *Credentials) Revoke(serials [][]byte) {
	c.revoked.replace(serials)
	for _, conn := range c.conns.of(&c.revoked) {
		_ = conn.Close() // nothing more is sent on it
	}
}

// Dial connects with a daemon of one of the roles for a protocol (ALPN).
func (c *Credentials) Dial(ctx context.Context, address, protocol string, roles ...Role) (*tls.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn, err := c.Handshake(ctx, raw, protocol, roles...)
	if err != nil {
		return nil, err
	}
	state := conn.ConnectionState()
	is, err := PeerOf(&state)
	if err == nil {
		err = c.expected.check(address, is)
	}
	if err != nil {
		_ = conn.Close() // it was never used
		return nil, err
	}
	return conn, nil
}

// Handshake is like Dial, but on an open connection, which it closes if it refuses the other side.
func (c *Credentials) Handshake(ctx context.Context, raw net.Conn, protocol string, roles ...Role) (*tls.Conn, error) {
	watched := c.Watch(raw)
	config := watched.Config(c.Client(roles...))
	config.NextProtos = []string{protocol}
	conn := tls.Client(watched, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = watched.Close() // it was never used
		return nil, err
	}
	return conn, nil
}

// ServerSide returns a function that makes the server's side of a connection, for a protocol (ALPN)
// and the roles that may connect. The function does no handshake.
func (c *Credentials) ServerSide(protocol string, roles ...Role) func(raw net.Conn) *tls.Conn {
	config := c.Server(roles...)
	config.NextProtos = []string{protocol}
	return func(raw net.Conn) *tls.Conn {
		conn := c.Watch(raw)
		return tls.Server(conn, conn.Config(config))
	}
}
