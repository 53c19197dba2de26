package h2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"score/scored/api/identity/pki"
	"time"
)

// ErrDial is wrapped by the errors of calls that did not reach the other daemon.
var ErrDial = errors.New("the other daemon was not reached")

// Protocol identifies calls in the TLS handshake (RFC 9113, section 3.2).
const Protocol = "h2"

// CallTimeout bounds connecting for users' calls: less than they wait for a leader.
const CallTimeout = 2 * time.Second

// Dial makes an encrypted connection for calls to a daemon of one of the roles within CallTimeout.
// Its errors wrap ErrDial.
func Dial(ctx context.Context, credentials *pki.Credentials, address string, roles ...pki.Role) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	conn, err := credentials.Dial(ctx, address, Protocol, roles...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDial, err)
	}
	return conn, nil
}
