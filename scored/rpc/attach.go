package rpc

import (
	"context"
	"errors"
	"io"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync"

	"connectrpc.com/connect"
)

// attachStream is the stream of one client of Attach.
type attachStream = connect.BidiStream[scorev1.AttachRequest, scorev1.AttachEvent]

// Attach implements JobServiceHandler. It merges the leader's events about a job with the output
// that it fetches from the job's nodes, and forwards the client's input to the nodes.
func (u users) Attach(ctx context.Context, stream *attachStream) error {
	first, err := stream.Receive()
	if err != nil {
		return invalid("the first message must open a job")
	}
	open := first.GetOpen()
	if open == nil {
		return invalid("the first message must open a job")
	}
	options := leader.AttachOptions{
		Owner: open.GetOwner(), Output: !open.GetNoOutput(),
		Acknowledges: open.GetAcknowledges(), Received: open.GetReceivedAttempt(),
	}
	attachment, err := u.Leader.Attach(ctx, open.GetJobId(), options, callerOf(ctx))
	if err != nil {
		return err
	}
	defer attachment.Close()

	ctx, cancel := context.WithCancel(ctx)
	m := &merger{
		users: u, stream: stream, attachment: attachment, uid: callerOf(ctx).UID,
		output: make(chan *scorev1.AttachEvent),
		inputs: newInputs(),
		marks:  newMarks(open),

		attempts:  make(map[uint64]*attempt),
		readState: newReadState(open),
	}
	defer u.attached.add(open.GetJobId(), m.marks, callerOf(ctx))()
	defer m.senders.Wait()
	defer m.sources.Wait()
	defer cancel()
	// receive ends when this function has returned, since that closes the request.
	failed := make(chan error, 1)
	go func() { failed <- m.receive(ctx) }()
	return m.run(ctx, failed)
}

// merger serves one Attach: many sources, one writer.
type merger struct {
	users
	stream     *attachStream
	attachment *leader.Attachment
	uid        uint32                    // the client's
	sources    sync.WaitGroup            // the goroutines that fetch output
	senders    sync.WaitGroup            // the goroutines that forward input
	output     chan *scorev1.AttachEvent // unbuffered: a slow client slows the ranks down
	inputs     *inputs
	marks      *marks
	attempts   map[uint64]*attempt // the latest of each job; used by run only
	*readState
}

// run writes to the client until the job ends or the client is gone. After the end it waits for the
// sources, so that all output precedes the end.
func (m *merger) run(ctx context.Context, failed <-chan error) error {
	var end *leader.Event
	drained := make(chan struct{})
	if m.acknowledges { // the client keeps its input until it is acknowledged
		if err := m.sendTaken(); err != nil {
			return err
		}
	}
	for {
		var err error
		select {
		case e := <-m.attachment.Events():
			if e.Sources != nil || e.Message.GetEnded() == nil {
				err = m.onEvent(ctx, e)
				break
			}
			end = &e
			go func() { m.sources.Wait(); close(drained) }()
		case output := <-m.output:
			err = m.stream.Send(output)
		case <-m.inputs.changed:
			if m.acknowledges {
				err = m.sendTaken()
			}
		case <-drained:
			if m.inputs.isLost() { // a source ended because of it, and has more output
				return connect.NewError(connect.CodeUnavailable, errInputLost)
			}
			return m.sendEnd(ctx, end.Message, failed)
		case <-m.inputs.lost:
			return connect.NewError(connect.CodeUnavailable, errInputLost)
		case err = <-failed:
			failed = nil // the client will send nothing more, but may still receive
		case <-m.attachment.Broken():
			return connect.NewError(connect.CodeUnavailable, errors.New("the server missed events of the job; attach again"))
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// onEvent handles an event of the job other than its end.
func (m *merger) onEvent(ctx context.Context, e leader.Event) error {
	if e.Sources == nil {
		return m.stream.Send(e.Message)
	}
	m.open(ctx, e.Sources)
	return nil
}

// sendTaken acknowledges input to the client, which need not send it again.
func (m *merger) sendTaken() error {
	offset, err := m.inputs.acknowledgeable()
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	if offset == 0 {
		return nil // the client has to send all of it
	}
	return m.stream.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_InputTaken{InputTaken: offset}})
}

// receive handles the client's messages until it sends no more.
func (m *merger) receive(ctx context.Context) error {
	for {
		request, err := m.stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.handle(ctx, request); err != nil {
			return err
		}
	}
}

func (m *merger) handle(ctx context.Context, request *scorev1.AttachRequest) error {
	switch r := request.GetRequest().(type) {
	case *scorev1.AttachRequest_Stdin:
		select {
		case m.inputs.input <- r.Stdin:
			return nil
		case <-m.over:
			return nil // no reader is left
		case <-ctx.Done():
			return ctx.Err()
		}
	case *scorev1.AttachRequest_Signal:
		return m.attachment.Signal(ctx, r.Signal)
	case *scorev1.AttachRequest_Kill:
		return m.attachment.Kill(ctx)
	case *scorev1.AttachRequest_RankStates:
		return m.attachment.AskRanks(ctx)
	case *scorev1.AttachRequest_Acknowledged:
		m.acknowledge()
		return nil
	case *scorev1.AttachRequest_ReceivedAttempt:
		m.receivedAll(r.ReceivedAttempt)
		return nil
	default:
		return invalid("the job is open already")
	}
}
