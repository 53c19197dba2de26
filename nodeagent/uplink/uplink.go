package uplink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"

	"score/scored/api/pki"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
)

const (
	// welcomeTimeout bounds how long a server may take to answer Hello: a few
	// disk writes and round trips, even on a loaded machine.
	welcomeTimeout = 5 * time.Second
	// silenceTimeout is how long a stream may be without a Pong before it is
	// given up: several pings in a row were not answered.
	silenceTimeout = 3 * time.Second
)

var (
	// ErrRefused is wrapped by the error of Run when the leader will not have
	// this node; trying again would not help.
	ErrRefused = errors.New("the cluster refused this node")

	errSilent   = errors.New("the leader fell silent")
	errOverflow = errors.New("the leader does not take what it is sent")
	errLate     = errors.New("no server answered in time")
	errUnasked  = errors.New("the server spoke out of order")
	errOld      = errors.New("the server led once, and does not know of its successor")
	errOther    = errors.New("another server leads")
	errLater    = errors.New("the leader fell silent, and another server leads")
)

// Handler is told what comes from the leader, one call at a time.
type Handler interface {
	// Welcome begins a stream. What an earlier stream may have lost is to be
	// sent again now.
	Welcome(*scorev1.Welcome)
	// Message is every later message but Pong.
	Message(*scorev1.ServerMessage)
	// Lost ends a stream that was welcome.
	Lost()
}

// Clock learns the leader's clock from the heartbeat.
type Clock interface {
	// Sample is one round trip: when the ping left and its pong came back by
	// the caller's monotonic clock, and what the leader's clock said between.
	Sample(term uint64, sent, cluster, received int64)
	// Reading is the present estimate, which pings carry to the leader.
	Reading() (offset, errorBound, roundTrip int64)
}

// Options of a Link; all but Logger are needed.
type Options struct {
	// Servers are base URLs, tried in turn.
	Servers []string
	// Learnt, if not nil, is told the addresses of all servers, host:port, whenever they are others.
	Learnt func(addresses []string)
	Client *http.Client
	// ClientOptions are added to the connection's, such as credentials.
	ClientOptions []connect.ClientOption
	// Revoked, if not nil, asks a server, by its base URL, whether the node's certificate was revoked; only what a server of the cluster says for
	// certain is true. It is asked when a server has turned the node away: in the handshake no reason is told.
	Revoked func(ctx context.Context, server string) bool
	// Hello introduces the node anew for every stream.
	Hello   func() *scorev1.Hello
	Handler Handler
	Clock   Clock
	// Now is the monotonic clock in nanoseconds.
	Now    func() int64
	Logger *zap.Logger
}

// Link is the stream to the leader, or the attempts to have one.
type Link struct {
	options Options
	servers *servers
	leader  *leader
	queue   queue
	term    atomic.Uint64 // the highest of a leader; Run alone changes it
	told    string        // about certificates, last; Run's
	// heard is when the present server last said something that shows it to be alive, or was first asked, by Options.Now.
	heard atomic.Int64
}

// New makes a link; Run connects it.
func New(options Options) *Link {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	return &Link{options: options, queue: newQueue(), servers: newServers(options.Servers), leader: newLeader()}
}

// Servers are the base URLs of all servers that the link knows, those that it was made with first.
func (l *Link) Servers() []string { return l.servers.list() }

// Send queues a message for the leader. It never blocks: without a stream the
// message is dropped, and a leader that lets MaxQueued messages pile up loses
// its stream, so that everything is sent again on the next one.
func (l *Link) Send(message *scorev1.AgentMessage) {
	l.queue.push(message)
}

// Run keeps the stream until ctx ends, which is no error. It returns an error
// that wraps ErrRefused when the leader will not have the node, and ErrRemoved when a server says that it was removed.
func (l *Link) Run(ctx context.Context) error {
	var pause backoff
	for {
		server, sent := l.servers.next()
		welcome, err := l.session(ctx, server)
		if ctx.Err() != nil {
			return nil
		}
		if turnedAway(welcome, err) && l.revoked(ctx, server) {
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
			// What was sent by such a connection may be on its way for as long again when the server is back.
			l.options.Client.CloseIdleConnections()
		}
		if errors.Is(err, errLater) || errors.Is(err, errOther) && !sent {
			continue // who was sent on by one to which it was sent waits a little
		}
		wait := pause.next()
		l.tell(server, err, wait)
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// tell logs why there is no stream: what is wrong with certificates once, since only a person can mend it.
func (l *Link) tell(server string, err error, wait time.Duration) {
	fields := []zap.Field{zap.String("server", server), zap.Error(err), zap.Duration("retry_in", wait)}
	trouble := certificateTrouble(err)
	if trouble == "" || trouble == l.told {
		l.options.Logger.Debug("no stream to the leader", fields...)
		return
	}
	l.told = trouble
	l.options.Logger.Warn(trouble, fields...)
}

// certificateTrouble is the sentence for what is wrong with a certificate, "" if it is something else.
func certificateTrouble(err error) string {
	switch {
	case err == nil:
		return ""
	case pki.FaultOf(err) != pki.FaultNone:
		return "the certificates do not fit"
	case strings.Contains(err.Error(), "remote error: tls:"): // crypto/tls does not export the alerts' type
		return "the server refuses this node's certificate; its log says why"
	default:
		return ""
	}
}

// refusalOf turns what says "never" into the error of Run.
func refusalOf(err error) error {
	if errors.Is(err, ErrRefused) {
		return err
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		return fmt.Errorf("%w: the cluster key differs; give every daemon the same key_file", ErrRefused)
	default:
		return nil
	}
}

// session is one stream from beginning to end. It tells whether the leader
// welcomed the node.
func (l *Link) session(ctx context.Context, server string) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(welcomeTimeout, func() { cancel(errLate) })
	defer late.Stop()
	l.heard.Store(l.options.Now())
	seek := seeker{link: l, from: server, found: func() { cancel(errLater) }}
	var seeking sync.WaitGroup
	seeking.Go(func() { seek.run(ctx) })
	defer func() { cancel(nil); seeking.Wait() }()

	stream := scorev1connect.NewAgentServiceClient(l.options.Client, server, l.options.ClientOptions...).Connect(ctx)
	closed := closeWith(ctx, stream)
	defer func() { cancel(nil); <-closed }()
	hello := &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Hello{Hello: l.options.Hello()}}
	// A failed Send is io.EOF; Receive tells the reason.
	_ = stream.Send(hello)
	first, err := stream.Receive()
	if err != nil {
		return false, causeOf(ctx, err)
	}
	late.Stop()
	if refused, ok := first.Message.(*scorev1.ServerMessage_Refused); ok {
		return false, fmt.Errorf("%w: %s", ErrRefused, refused.Refused)
	}
	if other := first.GetRedirect(); other != nil {
		l.servers.redirect(other.GetAddress())
		return false, errOther
	}
	if first.GetWelcome() == nil {
		return false, errUnasked
	}
	if first.GetWelcome().GetTerm() < l.term.Load() {
		return false, errOld
	}
	l.term.Store(first.GetWelcome().GetTerm())
	seek.welcomed.Store(true)
	l.learn(first.GetWelcome().GetServers())
	l.options.Logger.Debug("welcomed by the leader", zap.Uint64("term", first.GetWelcome().GetTerm()))
	l.heard.Store(l.options.Now())
	l.leader.set(server)
	defer l.leader.set("")
	l.queue.open(func() { cancel(errOverflow) })
	defer l.options.Handler.Lost()
	defer l.queue.close()
	l.options.Handler.Welcome(first.GetWelcome())

	sent := make(chan struct{})
	go func() {
		defer close(sent)
		l.sendAll(ctx, cancel, stream)
	}()
	err = l.receiveAll(stream)
	err = causeOf(ctx, err)
	cancel(err)
	<-sent
	return true, err
}

// causeOf prefers the reason for which we gave the stream up ourselves.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// closeWith closes the stream when ctx ends, and then its result: the end of
// the context alone does not wake an HTTP/2 stream that waits for more to send.
func closeWith(ctx context.Context, stream *stream) <-chan struct{} {
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
	})
	return closed
}

type stream = connect.BidiStreamForClient[scorev1.AgentMessage, scorev1.ServerMessage]

func (l *Link) receiveAll(stream *stream) error {
	for {
		message, err := stream.Receive()
		if err != nil {
			return err
		}
		switch m := message.Message.(type) {
		case *scorev1.ServerMessage_Pong:
			now := l.options.Now()
			l.heard.Store(now)
			l.options.Clock.Sample(m.Pong.GetTerm(), m.Pong.GetAgentNanos(), m.Pong.GetClusterNanos(), now)
		case *scorev1.ServerMessage_Servers:
			l.learn(m.Servers)
		case *scorev1.ServerMessage_Refused:
			return fmt.Errorf("%w: %s", ErrRefused, m.Refused)
		case *scorev1.ServerMessage_Welcome, *scorev1.ServerMessage_Redirect:
			return errUnasked
		default:
			l.options.Handler.Message(message)
		}
	}
}

// sendAll sends what is queued, and pings, until the stream ends.
func (l *Link) sendAll(ctx context.Context, cancel context.CancelCauseFunc, stream *stream) {
	beat := newHeartbeat()
	defer beat.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.queue.ready:
			for _, message := range merge(l.queue.take()) {
				if stream.Send(message) != nil {
					return // the receiver learns why
				}
			}
		case <-beat.C():
			if l.options.Now()-l.heard.Load() > silenceTimeout.Nanoseconds() {
				cancel(errSilent)
				return
			}
			if stream.Send(l.ping(beat.next())) != nil {
				return
			}
		}
	}
}

func (l *Link) ping(sequence uint64) *scorev1.AgentMessage {
	offset, errorBound, roundTrip := l.options.Clock.Reading()
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Ping{Ping: &scorev1.Ping{
		Sequence:       sequence,
		OffsetNanos:    offset,
		ErrorNanos:     errorBound,
		RoundTripNanos: roundTrip,
		AgentNanos:     l.options.Now(),
		WallNanos:      time.Now().UnixNano(),
	}}}
}
