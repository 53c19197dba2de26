package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"score/scored/api/h2"
	"score/scored/api/pki"
)

const (
	// protocolHTTP2 is that of the daemons' calls in the TLS handshake (RFC 9113, section 3.2).
	protocolHTTP2 = "h2"
	// callDialTimeout bounds making a connection for calls: less than callers wait for a server that leads.
	callDialTimeout = 2 * time.Second
)

// ErrDial is wrapped by the errors of calls that did not come as far as the other server.
var ErrDial = errors.New("the other server was not reached")

// Calls reaches servers by URLs whose host is their name; address finds where that is.
func (m *Mesh) Calls(address func(name string) (string, error)) *http.Transport {
	t := h2.NewTransport(m.credentials, pki.Server)
	t.DialTLSContext = func(ctx context.Context, _, host string) (net.Conn, error) {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDial, err)
		}
		where, err := address(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDial, err)
		}
		ctx, cancel := context.WithTimeout(ctx, callDialTimeout)
		defer cancel()
		conn, err := m.dial(ctx, name, where, protocolHTTP2)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDial, err)
		}
		return conn, nil
	}
	return t
}
