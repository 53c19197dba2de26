package peertransport

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
)

// Calls reaches servers by URLs whose host is their name; address finds where that is. Errors of
// calls that did not come as far wrap h2.ErrDial.
func (t *Transport) Calls(address func(name string) (string, error)) *http.Transport {
	calls := h2.NewTransport(t.credentials, pki.Server)
	calls.DialTLSContext = func(ctx context.Context, _, host string) (net.Conn, error) {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", h2.ErrDial, err)
		}
		where, err := address(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", h2.ErrDial, err)
		}
		ctx, cancel := context.WithTimeout(ctx, h2.CallTimeout)
		defer cancel()
		conn, err := t.dial(ctx, name, where, h2.Protocol)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", h2.ErrDial, err)
		}
		return conn, nil
	}
	return calls
}
