package uplink

import (
	"context"
	"fmt"
	"score/nodeagent/clock"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/transport/h2"
	"score/scored/hosttime"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// welcomeTimeout bounds how long a server may take to answer Hello: a few
	// disk writes and round trips, even on a loaded machine.
	welcomeTimeout = 5 * time.Second
	// silenceTimeout is the time without a Pong after which a stream is ended: several pings in a
	// row were not answered.
	silenceTimeout = 3 * time.Second
	// maxBurst is the number of messages that are sent between two checks whether a ping is due: a
	// few milliseconds.
	maxBurst = 512
)

// session runs one stream from beginning to end. It reports whether the leader welcomed the node.
func (l *Link) session(ctx context.Context, server string) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(welcomeTimeout, func() { cancel(errLate) })
	defer late.Stop()
	l.lastHeard.Store(l.options.Now())
	seek := seeker{link: l, from: server, found: func() { cancel(errLater) }}
	var seeking sync.WaitGroup
	seeking.Go(func() { seek.run(ctx) })
	defer func() { cancel(nil); seeking.Wait() }()

	stream := agentpbconnect.NewAgentServiceClient(l.options.Client, server, l.options.ClientOptions...).Connect(ctx)
	closed := h2.CloseWith(ctx, stream)
	defer func() { cancel(nil); <-closed }()
	welcome, err := l.introduce(ctx, stream)
	if err != nil {
		return false, err
	}
	late.Stop()
	l.term.Store(welcome.GetTerm())
	seek.welcomed.Store(true)
	l.learn(welcome.GetServers())
	l.options.Logger.Debug("welcomed by the leader", zap.Uint64("term", welcome.GetTerm()))
	l.lastHeard.Store(l.options.Now())
	defer l.options.Handler.Lost()
	l.options.Handler.Welcome(welcome)
	l.queue.open(func() { cancel(errOverflow) })
	defer l.queue.close()
	l.options.Handler.Opened() // repeats the messages that the jobs keep
	l.queue.bound()
	l.leader.set(server)
	defer l.leader.set("")

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

// introduce sends Hello, and returns the leader's welcome.
func (l *Link) introduce(ctx context.Context, stream *stream) (*agentpb.Welcome, error) {
	// A failed Send is io.EOF; Receive returns the reason.
	_ = stream.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: l.options.Hello()}})
	first, err := stream.Receive()
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	return l.welcomeOf(first)
}

// welcomeOf returns the welcome in a server's answer to Hello. The error is the reason why there is
// no valid one.
func (l *Link) welcomeOf(first *agentpb.ServerMessage) (*agentpb.Welcome, error) {
	switch m := first.Message.(type) {
	case *agentpb.ServerMessage_Refused:
		return nil, fmt.Errorf("%w: %s", ErrRefused, m.Refused)
	case *agentpb.ServerMessage_Redirect:
		l.servers.redirect(m.Redirect.GetAddress())
		return nil, errOther
	case *agentpb.ServerMessage_Welcome:
		if m.Welcome.GetTerm() < l.term.Load() {
			return nil, errOld
		}
		return m.Welcome, nil
	default:
		return nil, errUnasked
	}
}

// causeOf returns the reason for which this side ended the stream, if there is one, else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

type stream = connect.BidiStreamForClient[agentpb.AgentMessage, agentpb.ServerMessage]

func (l *Link) receiveAll(stream *stream) error {
	for {
		message, err := stream.Receive()
		if err != nil {
			return err
		}
		switch m := message.Message.(type) {
		case *agentpb.ServerMessage_Pong:
			now := l.options.Now()
			l.lastHeard.Store(now)
			l.options.Clock.Sample(m.Pong.GetTerm(), m.Pong.GetAgentNanos(), sampleOf(m.Pong, now))
		case *agentpb.ServerMessage_Servers:
			l.learn(m.Servers)
		case *agentpb.ServerMessage_Refused:
			return fmt.Errorf("%w: %s", ErrRefused, m.Refused)
		case *agentpb.ServerMessage_Welcome, *agentpb.ServerMessage_Redirect:
			return errUnasked
		default:
			l.options.Handler.Message(message)
		}
	}
}

// sampleOf returns the times of a heartbeat whose answer came now. A server of an earlier version
// sends only the time at which the answer left.
func sampleOf(pong *agentpb.Pong, now int64) clock.Sample {
	sent, left := pong.GetAgentNanos(), pong.GetClusterNanos()
	if sharesClock(pong, sent, now) {
		return clock.Sample{Sent: pong.GetBeforeNanos(), Arrived: left, Left: left, Received: pong.GetAfterNanos()}
	}
	arrived := pong.GetArrivedNanos()
	if arrived == 0 {
		arrived = left
	}
	return clock.Sample{Sent: sent, Arrived: arrived, Left: left, Received: now}
}

// sharesClock reports whether the server has the same monotonic clock as this agent: it is on the
// same host, and has read the clock while the heartbeat was under way.
func sharesClock(pong *agentpb.Pong, sent, now int64) bool {
	return pong.GetHost() != "" && pong.GetHost() == hosttime.Host() &&
		sent <= pong.GetBeforeNanos() && pong.GetBeforeNanos() <= pong.GetAfterNanos() && pong.GetAfterNanos() <= now
}

// sendAll sends queued messages and pings until the stream ends.
func (l *Link) sendAll(ctx context.Context, cancel context.CancelCauseFunc, stream *stream) {
	beat := newHeartbeat()
	defer beat.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.queue.ready:
			if l.sendQueued(cancel, stream, beat) != nil {
				return // the receiver gets the reason
			}
		case <-beat.C():
			if l.beat(cancel, stream, beat) != nil {
				return
			}
		}
	}
}

// sendQueued sends the queued messages, with due pings in between.
func (l *Link) sendQueued(cancel context.CancelCauseFunc, stream *stream, beat *heartbeat) error {
	for burst := range slices.Chunk(merge(l.queue.take()), maxBurst) {
		for _, message := range burst {
			if err := stream.Send(message); err != nil {
				return err
			}
		}
		select {
		case <-beat.C():
			if err := l.beat(cancel, stream, beat); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// beat sends a ping, or ends the stream if the leader has not answered for too long.
func (l *Link) beat(cancel context.CancelCauseFunc, stream *stream, beat *heartbeat) error {
	if l.options.Now()-l.lastHeard.Load() > silenceTimeout.Nanoseconds() {
		cancel(errSilent)
		return errSilent
	}
	return stream.Send(l.ping(beat.next()))
}

func (l *Link) ping(sequence uint64) *agentpb.AgentMessage {
	offset, errorBound, roundTrip := l.options.Clock.Reading()
	var troubles []string
	if l.options.Problems != nil {
		troubles = l.options.Problems()
	}
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{
		Troubles:       troubles,
		Sequence:       sequence,
		OffsetNanos:    offset,
		ErrorNanos:     errorBound,
		RoundTripNanos: roundTrip,
		AgentNanos:     l.options.Now(),
		WallNanos:      time.Now().UnixNano(),
	}}}
}
