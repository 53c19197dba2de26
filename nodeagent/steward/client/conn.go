package client

import (
	"context"
	"errors"
	"fmt"
	"score/nodeagent/steward/stewardpb"
	"sync"
	"time"
)

const (
	// answerWait is how long a steward may take to report its state, and to read an order. Its loop
	// never waits for anything else.
	answerWait = 10 * time.Second
)

// ErrGone means that the steward has closed the connection or does not react.
var ErrGone = errors.New("steward is gone")

// Events are the callbacks of a connection.
type Events struct {
	// Message handles one message; the next comes when it returns.
	Message func(*stewardpb.FromSteward)
	// Closed is the last call. Its error is the reason, nil after Close.
	Closed func(error)
}

// Conn is a control connection for one job. Its methods may be called from any goroutine and,
// except for Close, from Events.Message.
type Conn struct{ shared *sharedConn }

// sharedConn is the connection that the Conns of a steward's successive jobs share.
type sharedConn struct {
	stream stream
	events Events
	done   chan struct{}
	mu     sync.Mutex
	closed bool // by Close
}

// Dial connects to the steward that listens at socket, and takes its control over from any other
// agent. Messages that the former agent may have missed come at once.
func Dial(ctx context.Context, socket string, events Events) (*Conn, *stewardpb.Status, error) {
	c, status, err := Connect(ctx, socket)
	if err != nil {
		return nil, nil, err
	}
	c.Listen(events)
	return c, status, nil
}

// Connect is like Dial, for callers that must know the steward's state before they get messages.
// Messages come after Listen, which must be called once, and before Close.
func Connect(ctx context.Context, socket string) (*Conn, *stewardpb.Status, error) {
	shared := &sharedConn{done: make(chan struct{})}
	c := &Conn{shared: shared}
	shared.stream.owner = c
	if err := shared.stream.dial(ctx, socket, &stewardpb.Open{}); err != nil {
		return nil, nil, err
	}
	var first stewardpb.FromSteward
	_ = shared.stream.conn.SetReadDeadline(answerDeadline(ctx)) // receive meets the same error
	err := shared.stream.receive(&first)
	if err == nil && first.GetStatus() == nil {
		err = fmt.Errorf("%w: it does not report its state", ErrGone)
	}
	if err != nil {
		shared.stream.conn.Close()
		return nil, nil, err
	}
	_ = shared.stream.conn.SetReadDeadline(time.Time{}) // receive meets the same error
	return c, first.GetStatus(), nil
}

// answerDeadline returns when to stop waiting for an answer.
func answerDeadline(ctx context.Context) time.Time {
	by := time.Now().Add(answerWait)
	if limit, ok := ctx.Deadline(); ok && limit.Before(by) {
		return limit
	}
	return by
}

// Listen starts the calls of Events.
func (c *Conn) Listen(events Events) {
	c.shared.events = events
	go c.shared.listen()
}

func (s *sharedConn) listen() {
	defer close(s.done)
	for {
		m := new(stewardpb.FromSteward)
		if err := s.stream.receive(m); err != nil {
			s.mu.Lock()
			if s.closed {
				err = nil
			}
			s.mu.Unlock()
			s.stream.conn.Close()
			s.events.Closed(err)
			return
		}
		s.events.Message(m)
	}
}

// Next returns the connection for the steward's next job, after the steward has reported that it is
// free. From now on sends on c fail with ErrGone: a late order must not reach another job.
func (c *Conn) Next() *Conn {
	next := &Conn{shared: c.shared}
	c.shared.stream.mu.Lock()
	c.shared.stream.owner = next
	c.shared.stream.mu.Unlock()
	return next
}

// Close ends the connection and waits until no event is under way.
func (c *Conn) Close() {
	c.shared.mu.Lock()
	c.shared.closed = true
	c.shared.mu.Unlock()
	c.shared.stream.conn.Close()
	<-c.shared.done
}
