package uplink

import (
	"context"
	"net/http"
	"score/nodeagent/clock"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// Handler is told what comes from the leader, one call at a time.
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
	// Sample takes what a heartbeat, sent at the instant of the agent's monotonic clock, tells of the
	// clock of the leader of the term.
	Sample(term uint64, sent int64, s clock.Sample)
	// Reading is the present estimate, which pings carry to the leader.
	Reading() (offset, errorBound, roundTrip int64)
}

// Options of a Link; all but Logger are needed.
type Options struct {
	// Servers are base URLs, tried in turn.
	Servers []string
	// Learnt, if not nil, is told the addresses of all servers, host:port, whenever they are
	// others.
	Learnt func(addresses []string)
	Client *http.Client
	// ClientOptions are added to the connection's, such as credentials.
	ClientOptions []connect.ClientOption
	// Revoked, if not nil, asks a server, by its base URL, whether the node's certificate was
	// revoked; only what a server of the cluster says for certain is true. It is asked when a
	// server has turned the node away: in the handshake no reason is told.
	Revoked func(ctx context.Context, server string) bool
	// Hello introduces the node again for every stream.
	Hello   func() *scorev1.Hello
	Handler Handler
	Clock   Clock
	// Problems, if not nil, is what is wrong on the node now, a sentence each: pings carry it to
	// the leader.
	Problems func() []string
	// Now is the monotonic clock in nanoseconds.
	Now    func() int64
	Logger *zap.Logger
}
