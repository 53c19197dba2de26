package client

import (
	"context"
	"net/http"
	"os"
	"score/scored/api"
)

// byServer directs calls that agents refuse (those that need a role, and root's submissions) to the
// host's server, also while that is being restarted. So their user learns that the server is away,
// or waits for it, instead of being refused. On a host without a server, the agent's refusal says
// where to go.
type byServer struct {
	any    http.RoundTripper
	dialer *socketDialer // of any
	// server dials the server alone.
	server http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *byServer) RoundTrip(r *http.Request) (*http.Response, error) {
	bound := r.URL.Path == api.KeyedSubmit && os.Getuid() == 0
	if !bound && api.ByAgent(r.URL.Path) == nil {
		return b.any.RoundTrip(r)
	}
	if _, err := os.Stat(b.dialer.sockets[0]); err != nil {
		return b.any.RoundTrip(r)
	}
	if b.dialer.triedAgent.Load() {
		return b.server.RoundTrip(r)
	}
	// All connections lead to the server: one of them is as good, and costs no other.
	return b.any.RoundTrip(r.WithContext(context.WithValue(r.Context(), serverOnly{}, true)))
}

// serverOnly is the key of contexts in which only the server is dialed.
type serverOnly struct{}
