package rpc

import (
	"context"
	"errors"
	"math"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync"

	"connectrpc.com/connect"
)

// errInputLost ends an attachment when input may have been lost on its way to the ranks: the client
// attaches again, and sends what they have not taken.
var errInputLost = errors.New("a node's agent was lost while it had input for its ranks; attach again")

// reader is a source that takes the client's input.
type reader struct {
	input   chan *scorev1.Stdin // nil: it takes none
	over    chan struct{}       // closed when the source has ended
	changed chan<- struct{}     // of the merger: taken has grown

	mu          sync.Mutex
	sent, taken uint64 // offsets in the input: sent to the source, taken by its ranks
}

// newReader makes one to which input is sent from an offset on.
func newReader(from uint64, changed chan<- struct{}) *reader {
	return &reader{over: make(chan struct{}), changed: changed, sent: from, taken: from}
}

// onTaken notes what the source says that its ranks have.
func (r *reader) onTaken(offset uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if offset <= r.taken {
		return
	}
	r.taken = offset
	select {
	case r.changed <- struct{}{}:
	default: // it is known already
	}
}

// onSent notes what goes to the source now.
func (r *reader) onSent(input *scorev1.Stdin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = max(r.sent, api.InputEnd(input))
}

// inFlight reports whether the source has been sent more than its ranks have taken.
func (r *reader) inFlight() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent > r.taken
}

// takenUpTo is what the source's ranks have; all is true of a source that has ended.
func (r *reader) takenUpTo() (offset uint64, all bool) {
	select {
	case <-r.over:
		return 0, true
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, false
}

// sendInput carries input until the source ends, no faster than others can bear.
func (m *merger) sendInput(ctx context.Context, stream *connect.BidiStreamForClient[scorev1.StdioUp, scorev1.StdioDown], r *reader,
	source *leader.Source, at string,
) {
	pace := new(inputPace)
	defer m.flows.end(&pace.flow)
	for {
		select {
		case input := <-r.input:
			r.onSent(input)
			if stream.Send(&scorev1.StdioUp{Message: &scorev1.StdioUp_Stdin{Stdin: input}}) != nil {
				return // the receiver learns why, and ends the source
			}
			if !m.holdInput(ctx, source, at, pace, len(input.GetData())) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// inputs are the readers of an attachment, and what the client has sent.
type inputs struct {
	input   chan *scorev1.Stdin // unbuffered: a job that takes none holds the client back
	changed chan struct{}       // some reader has taken more
	lost    chan struct{}       // closed when input was lost on its way
	once    sync.Once

	mu          sync.Mutex
	readers     []*reader
	ended       bool   // the client has said that there is no more
	distributed uint64 // offset behind what the readers were given
}

func newInputs() *inputs {
	return &inputs{input: make(chan *scorev1.Stdin), changed: make(chan struct{}, 1), lost: make(chan struct{})}
}

// reader makes one for a source of an attempt, before which all input went elsewhere.
func (in *inputs) reader(takesInput bool) *reader {
	in.mu.Lock()
	defer in.mu.Unlock()
	r := newReader(in.distributed, in.changed)
	if takesInput {
		r.input = make(chan *scorev1.Stdin)
		in.readers = append(in.readers, r)
	}
	return r
}

// lose ends the attachment for input that may be lost.
func (in *inputs) lose() { in.once.Do(func() { close(in.lost) }) }

// isLost reports whether lose was called.
func (in *inputs) isLost() bool {
	select {
	case <-in.lost:
		return true
	default:
		return false
	}
}

// taken returns the offset up to which all ranks have the input. It may be beyond what this
// attachment has brought: the client sends again what an earlier one had brought if it has not
// heard that it was taken.
func (in *inputs) taken() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	least, any := uint64(math.MaxUint64), false
	for _, r := range in.readers {
		if offset, all := r.takenUpTo(); !all {
			least, any = min(least, offset), true
		}
	}
	if !any {
		return in.distributed
	}
	return least
}

// distribute gives the client's input to every reader of an attempt. One that does not take it
// holds the client back, until it has ended. What an earlier attempt has taken is
// gone; that there is no more is told again.
func (in *inputs) distribute(ctx context.Context, readers []*reader) {
	if end := in.end(); end != nil {
		give(ctx, end, readers)
	}
	for {
		select {
		case input := <-in.input:
			in.note(input)
			give(ctx, input, readers)
		case <-ctx.Done():
			return
		}
	}
}

// end returns the end of the input, if the client has told it.
func (in *inputs) end() *scorev1.Stdin {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.ended {
		return nil
	}
	offset := in.distributed - 1
	return &scorev1.Stdin{Eof: true, Offset: &offset}
}

func (in *inputs) note(input *scorev1.Stdin) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = in.ended || input.GetEof()
	in.distributed = max(in.distributed, api.InputEnd(input))
}

func give(ctx context.Context, input *scorev1.Stdin, readers []*reader) {
	for _, r := range readers {
		select {
		case r.input <- input:
		case <-r.over:
		case <-ctx.Done():
		}
	}
}
