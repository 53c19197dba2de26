package client

import (
	"context"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"time"
)

// Stdio is a connection for the input and output of a job's ranks. One goroutine may send while
// another receives. A reader that does not call Receive makes the ranks wait.
type Stdio struct {
	stream stream
	// InputTaken, if not nil, is called by Receive with the offset up to which the ranks have the
	// input.
	InputTaken func(offset uint64)
}

// DialStdio connects to the steward that listens at socket, for the streams of a job; 0 means the
// steward's present job. has is the number of the last output that the reader has: later output
// comes, even if an earlier connection has already brought it. A newer connection ends this one,
// and it ends at once if the steward has another job.
func DialStdio(ctx context.Context, socket string, job, has uint64) (*Stdio, error) {
	s := new(Stdio)
	if err := s.stream.dial(ctx, socket, &stewardpb.Open{Stdio: true, JobId: job, Sequence: has}); err != nil {
		return nil, err
	}
	return s, nil
}

// Send sends input. It waits while the ranks do not read; Close ends that.
func (s *Stdio) Send(input *scorev1.Stdin) error {
	return s.stream.send(nil, &stewardpb.ToSteward{Message: &stewardpb.ToSteward_Stdin{Stdin: input}}, time.Time{})
}

// Receive waits for the next piece of output. After the last one it returns drained instead. An
// attached job's ranks wait while too much output has not been confirmed with Conn.Taken.
func (s *Stdio) Receive() (out *scorev1.Output, drained bool, err error) {
	for {
		var m stewardpb.FromSteward
		if err := s.stream.receive(&m); err != nil {
			return nil, false, err
		}
		if m.GetDrained() {
			return nil, true, nil
		}
		switch m := m.GetMessage().(type) {
		case *stewardpb.FromSteward_Output:
			return m.Output, false, nil
		case *stewardpb.FromSteward_InputTaken:
			if s.InputTaken != nil {
				s.InputTaken(m.InputTaken)
			}
		}
	}
}

// Close ends the connection; waiting calls return.
func (s *Stdio) Close() error { return s.stream.conn.Close() }
