package uplink

import (
	"context"
	"net/http"
	"score/nodeagent/clock"
	"score/scored/api/agentpb"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// Handler handles the leader's messages, one call at a time.
type Handler interface {
	// Welcome begins a stream, which takes no messages yet: nothing can be said about a job that
	// the handler ends because the leader does not know it.
	Welcome(*agentpb.Welcome)
	// Opened follows. The handler must repeat the messages that an earlier stream may have lost.
	Opened()
	// Message handles every later message except Pong.
	Message(*agentpb.ServerMessage)
	// Lost reports the end of a stream that was welcomed.
	Lost()
}

// Clock estimates the leader's clock from heartbeats.
type Clock interface {
	// Sample adds a heartbeat's sample of the clock of the term's leader; sent is when the
	// heartbeat was sent, by the agent's monotonic clock.
	Sample(term uint64, sent int64, s clock.Sample)
	// Reading returns the present estimate, which pings carry to the leader.
	Reading() (offset, errorBound, roundTrip int64)
}

// Options are the options of New.
type Options struct {
	// Servers are base URLs, tried in turn.
	Servers []string
	// Learnt, if not nil, is called with the addresses of all servers, host:port, after each
	// change.
	Learnt func(addresses []string)
	Client *http.Client
	// ClientOptions are added to the connection's, such as credentials.
	ClientOptions []connect.ClientOption
	// Revoked, if not nil, asks a server, by its base URL, whether the node's certificate was
	// revoked. It returns true only if a server of the cluster has confirmed that. It is called
	// after a server has refused the node, since the handshake gives no reason.
	Revoked func(ctx context.Context, server string) bool
	// Hello returns the node's introduction; it is called for every stream.
	Hello   func() *agentpb.Hello
	Handler Handler
	Clock   Clock
	// Problems, if not nil, returns a sentence for each present problem of the node, which pings
	// carry to the leader.
	Problems func() []string
	// Now returns the monotonic time in nanoseconds.
	Now    func() int64
	Logger *zap.Logger
}
