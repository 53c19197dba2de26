package uplink

import (
	"context"
	"errors"
	"score/scored/api/agentpb"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Link is the stream to the leader, with the attempts to connect.
type Link struct {
	options  Options
	servers  *servers
	leader   *leader
	queue    queue
	term     atomic.Uint64 // the highest term of a leader; only Run changes it
	reported string        // the last sentence about certificates; only for Run
	// lastHeard is when the present server last showed that it is alive, or was first asked, by
	// Options.Now.
	lastHeard atomic.Int64
}

// New makes a link; Run connects it.
func New(options Options) *Link {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	return &Link{options: options, queue: newQueue(), servers: newServers(options.Servers), leader: newLeader()}
}

// Servers returns the base URLs of all servers that the link knows, the configured ones first.
func (l *Link) Servers() []string { return l.servers.list() }

// Send queues a message for the leader. It never blocks: without a stream it drops the message, and
// if api.MaxQueued messages wait it ends the stream, so that everything is sent again on the next
// one.
func (l *Link) Send(message *agentpb.AgentMessage) {
	l.queue.push(message)
}

// Run keeps the stream until ctx ends, which is no error. It returns an error that wraps ErrRefused
// when the leader will not have the node, and ErrRemoved when a server says that it was removed.
func (l *Link) Run(ctx context.Context) error {
	var pause backoff
	for {
		server, sent := l.servers.next()
		welcome, err := l.session(ctx, server)
		if ctx.Err() != nil {
			return nil
		}
		if rejected(welcome, err) && l.revoked(ctx, server) {
			return ErrRemoved
		}
		if ctx.Err() != nil {
			return nil
		}
		if refusal := refusalOf(err); refusal != nil {
			return refusal
		}
		if welcome {
			pause = backoff{}
		}
		if errors.Is(err, errSilent) || errors.Is(err, errLate) || errors.Is(err, errLater) {
			// What was sent by such a connection may be on its way for as long again when the
			// server is back.
			l.options.Client.CloseIdleConnections()
		}
		if errors.Is(err, errLater) || errors.Is(err, errOther) && !sent {
			continue // after a second redirect in a row, wait
		}
		wait := pause.next()
		l.logError(server, err, wait)
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// logError logs why there is no stream: what is wrong with certificates once, since only a person
// can mend it.
func (l *Link) logError(server string, err error, wait time.Duration) {
	fields := []zap.Field{zap.String("server", server), zap.Error(err), zap.Duration("retry_in", wait)}
	trouble := certificateTrouble(err)
	if trouble == "" || trouble == l.reported {
		l.options.Logger.Debug("no stream to the leader", fields...)
		return
	}
	l.reported = trouble
	l.options.Logger.Warn(trouble, fields...)
}
