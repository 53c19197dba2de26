package uplink

import (
	"context"
	"net/http"
	"score/nodeagent/clock"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// Handler handles the leader's messages, one call at a time.
type Handler interface {
	// Welcome begins a stream. Its receiver sends again what an earlier
	// stream may have lost.
	Welcome(*scorev1.Welcome)
	// Message is every later message but Pong.
	Message(*scorev1.ServerMessage)
	// Lost ends a stream that was welcome.
	Lost()
}

// Clock learns the leader's clock from the heartbeat.
type Clock interface {
	// Sample takes a heartbeat's sample of the clock of the leader of the term; sent is when it was
	// sent, by the agent's monotonic clock.
	Sample(term uint64, sent int64, s clock.Sample)
	// Reading is the present estimate, which pings carry to the leader.
	Reading() (offset, errorBound, roundTrip int64)
}

// Options of a Link; all but Logger are needed.
type Options struct {
	// Servers are base URLs, tried in turn.
	Servers []string
	// Learnt, if not nil, is called with the addresses of all servers, host:port, whenever they
	// have changed.
	Learnt func(addresses []string)
	Client *http.Client
	// ClientOptions are added to the connection's, such as credentials.
	ClientOptions []connect.ClientOption
	// Revoked, if not nil, asks a server, by its base URL, whether the node's certificate was
	// revoked; it returns true only if a server of the cluster has confirmed that. It is called
	// when a server has refused the node, since the handshake gives no reason.
	Revoked func(ctx context.Context, server string) bool
	// Hello introduces the node again for every stream.
	Hello   func() *scorev1.Hello
	Handler Handler
	Clock   Clock
	// Problems, if not nil, returns a sentence for each present problem of the node, which pings
	// carry to the leader.
	Problems func() []string
	// Now is the monotonic clock in nanoseconds.
	Now    func() int64
	Logger *zap.Logger
}
