package clienttest

import (
	"context"
	"errors"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/api/transport/forward"

	"connectrpc.com/connect"
)

// Attachment is the daemon's end of one Attach.
type Attachment struct {
	context.Context
	// Open is the client's request.
	Open   *scorev1.AttachRequest_Open
	stream *connect.BidiStream[scorev1.AttachRequest, scorev1.AttachEvent]
	err    error // what the call ends with
}

// Send sends any event.
func (a *Attachment) Send(event *scorev1.AttachEvent) error { return a.stream.Send(event) }

// Print sends output of a rank; stream is 1 or 2.
func (a *Attachment) Print(rank, stream uint32, text string) error {
	output := &scorev1.Output{Rank: rank, Stream: stream, Data: []byte(text)}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: output}})
}

// EOF ends a stream of a rank.
func (a *Attachment) EOF(rank, stream uint32) error {
	output := &scorev1.Output{Rank: rank, Stream: stream, Eof: true}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: output}})
}

// Warn sends a warning.
func (a *Attachment) Warn(text string) error {
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Warning{Warning: text}})
}

// State sends a change of the job's state.
func (a *Attachment) State(state scorev1.JobState, places ...*scorev1.NodePlace) error {
	change := &scorev1.AttachEvent_StateChange{State: state, Places: places}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_State{State: change}})
}

// End sends the verdict.
func (a *Attachment) End(code int32, message string) error {
	verdict := &scorev1.Verdict{ExitCode: code, Message: message}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Ended{Ended: verdict}})
}

// Fail makes the call end with an error.
func (a *Attachment) Fail(code connect.Code, message string) {
	a.err = connect.NewError(code, errors.New(message))
}

// FailUndecided makes the call end as if no server could decide.
func (a *Attachment) FailUndecided() { a.err = Undecided() }

// Undecided returns the answer of servers without a majority.
func Undecided() error { return forward.Undecided("the cluster can decide nothing now", "") }

// Stdin waits for the next piece of input, and tells the client that it was taken; nil when the
// client is gone.
func (a *Attachment) Stdin() *scorev1.Stdin {
	for {
		request, err := a.stream.Receive()
		if err != nil {
			return nil
		}
		if input := request.GetStdin(); input != nil {
			taken := &scorev1.AttachEvent_InputTaken{InputTaken: api.InputEnd(input)}
			if a.Send(&scorev1.AttachEvent{Event: taken}) != nil {
				return nil
			}
			return input
		}
	}
}
