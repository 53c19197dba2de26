package h2

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrDial is wrapped by the errors of calls that did not come as far as the other daemon.
var ErrDial = errors.New("the other daemon was not reached")

// Protocol is that of calls in the TLS handshake (RFC 9113, section 3.2).
const Protocol = "h2"

// CallTimeout bounds making a connection for users' calls: less than they wait for a server that leads.
const CallTimeout = 2 * time.Second

// Dial makes an encrypted connection for calls within CallTimeout. Its errors wrap ErrDial.
func Dial(ctx context.Context, config *tls.Config, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	config.NextProtos = []string{Protocol}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDial, err)
	}
	return conn, nil
}
