package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"score/scored/api"
	"score/scored/api/scorev1"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
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
	_ = shared.stream.conn.SetReadDeadline(answerDeadline(ctx))
	err := shared.stream.receive(&first)
	if err == nil && first.GetStatus() == nil {
		err = fmt.Errorf("%w: it does not report its state", ErrGone)
	}
	if err != nil {
		shared.stream.conn.Close()
		return nil, nil, err
	}
	_ = shared.stream.conn.SetReadDeadline(time.Time{})
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

// Prepare orders the steward to prepare a job; Prepared answers.
func (c *Conn) Prepare(order *stewardpb.PrepareJob) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Prepare{Prepare: order}})
}

// Launch starts the ranks. Launched answers, or Abort.
func (c *Conn) Launch() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Launch{Launch: true}})
}

// Signal sends a signal to every rank's process group.
func (c *Conn) Signal(signal int32) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Signal{Signal: signal}})
}

// Ending announces that the next signals end the job: a rank that dies does not end the others.
func (c *Conn) Ending() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Ending{Ending: true}})
}

// Reason gives the reason of the next Kill, for the output file of a job that has not started.
func (c *Conn) Reason(reason string) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Reason{Reason: reason}})
}

// Kill ends the job on this node, whatever its state; NodeDone answers.
func (c *Conn) Kill() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Kill{Kill: true}})
}

// Lease lets the ranks live until an instant of CLOCK_MONOTONIC, in nanoseconds.
func (c *Conn) Lease(until int64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Lease{Lease: until}})
}

// RankFailure reports the failure, or the new start, of a rank of another node while the job goes
// on.
func (c *Conn) RankFailure(m *stewardpb.RankFailure) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_RankFailure{RankFailure: m}})
}

// PartLost reports that nothing of the job runs on another node any more.
func (c *Conn) PartLost(lost *stewardpb.PartLost) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_PartLost{PartLost: lost}})
}

// ChildEnded reports that a job which this one spawned has ended.
func (c *Conn) ChildEnded(m *scorev1.ChildEnded) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_ChildEnded{ChildEnded: m}})
}

// Collective answers a Collective.
func (c *Conn) Collective(result *stewardpb.CollectiveResult) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Collective{Collective: result}})
}

// Name answers a NameRequest.
func (c *Conn) Name(reply *scorev1.NameReply) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Name{Name: reply}})
}

// Spawn answers a SpawnRequest.
func (c *Conn) Spawn(reply *scorev1.SpawnReply) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Spawn{Spawn: reply}})
}

// Relay delivers a message of another steward.
func (c *Conn) Relay(m *stewardpb.Relay) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Relay{Relay: m}})
}

// RelayFailed returns a message that could not be delivered.
func (c *Conn) RelayFailed(m *stewardpb.Relay) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_RelayFailed{RelayFailed: m}})
}

// Places answers a PlacesRequest.
func (c *Conn) Places(reply *scorev1.PlacesReply) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Places{Places: reply}})
}

// AskRankStates asks for the ranks' states; RankStatesReply answers, with the same number.
func (c *Conn) AskRankStates(number uint64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_AskRankStates{AskRankStates: number}})
}

// Taken reports that the job's output up to a number need not be kept.
func (c *Conn) Taken(sequence uint64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Taken{Taken: sequence}})
}

// Pace bounds for a while how many bytes of output are read in a second; 0 lifts the bound.
func (c *Conn) Pace(rate uint64) error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Pace{Pace: rate}})
}

// Forget reports that the job's end is committed: the steward exits once its output has been read.
func (c *Conn) Forget() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Forget{Forget: true}})
}

// Recycle reports the same, and that the steward may serve again. The steward
// answers with a Status that names no job, or exits; Next returns the Conn for
// its next job.
func (c *Conn) Recycle() error {
	return c.send(&stewardpb.ToSteward{Message: &stewardpb.ToSteward_Recycle{Recycle: true}})
}

func (c *Conn) send(m *stewardpb.ToSteward) error {
	return c.shared.stream.send(c, m, time.Now().Add(answerWait))
}

// stream is a framed connection; one may send while another receives.
type stream struct {
	conn net.Conn
	in   wire.Decoder

	mu    sync.Mutex
	out   []byte // guarded by mu
	owner *Conn  // guarded by mu: who may send
}

// dial connects, and sends the purpose of the connection.
func (s *stream) dial(ctx context.Context, socket string, open *stewardpb.Open) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	s.conn = conn
	open.Version = api.Version()
	err = s.send(s.owner, &stewardpb.ToSteward{Message: &stewardpb.ToSteward_Open{Open: open}}, time.Now().Add(answerWait))
	if err != nil {
		conn.Close()
	}
	return err
}

// send writes a message. The zero deadline waits for as long as it takes.
func (s *stream) send(from *Conn, m *stewardpb.ToSteward, deadline time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from != s.owner {
		return fmt.Errorf("%w: it serves another job by now", ErrGone)
	}
	var err error
	if s.out, err = wire.Append(s.out[:0], m); err != nil {
		return err
	}
	_ = s.conn.SetWriteDeadline(deadline)
	if _, err := s.conn.Write(s.out); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

func (s *stream) receive(m proto.Message) error {
	for {
		body, err := s.in.Next()
		if err != nil {
			return err
		}
		if body != nil {
			if err := proto.Unmarshal(body, m); err != nil {
				return fmt.Errorf("reading from a steward: %w", err)
			}
			return nil
		}
		n, err := s.conn.Read(s.in.Space())
		s.in.Filled(n)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return ErrGone
			}
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
}
