package rpc

import (
	"context"
	"errors"
	"math"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync"

	"connectrpc.com/connect"
)

// errInputLost ends an attachment when input may have been lost on its way to the ranks. The client
// attaches again, and sends again what they have not taken.
var errInputLost = errors.New("a node's agent was lost while it had input for its ranks; attach again")

// reader follows the client's input at one source, whose ranks may read it.
type reader struct {
	input   chan *scorev1.Stdin // to be sent to the source; nil: its ranks read no input
	over    chan struct{}       // closed after the source has ended
	changed chan<- struct{}     // of the merger: taken has grown

	mu          sync.Mutex
	sent, taken uint64 // offsets in the input: sent to the source, taken by its ranks
}

// newReader returns a reader to which input is sent from an offset on.
func newReader(from uint64, changed chan<- struct{}) *reader {
	return &reader{over: make(chan struct{}), changed: changed, sent: from, taken: from}
}

// onTaken records how much input the source's ranks have taken.
func (r *reader) onTaken(offset uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if offset <= r.taken {
		return
	}
	r.taken = offset
	select {
	case r.changed <- struct{}{}:
	default: // a signal is pending
	}
}

// onSent records input that goes to the source now.
func (r *reader) onSent(input *scorev1.Stdin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = max(r.sent, api.InputEnd(input))
}

// inFlight reports whether input was sent to the source that its ranks have not taken.
func (r *reader) inFlight() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent > r.taken
}

// takenUpTo returns how much the source's ranks have taken; all is true if the source has ended.
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

// sendInput sends input at its pace until the source ends.
func (m *merger) sendInput(ctx context.Context, stream *connect.BidiStreamForClient[agentpb.StdioUp, agentpb.StdioDown], r *reader,
	source *leader.Source, at string,
) {
	pace := new(inputPace)
	defer m.flows.end(&pace.flow)
	for {
		select {
		case input := <-r.input:
			r.onSent(input)
			if stream.Send(&agentpb.StdioUp{Message: &agentpb.StdioUp_Stdin{Stdin: input}}) != nil {
				return // the receiver gets the reason and ends the source
			}
			if !m.holdInput(ctx, source, at, pace, len(input.GetData())) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// inputs holds the readers of an attachment, and how much the client has sent.
type inputs struct {
	input   chan *scorev1.Stdin // unbuffered: a job that takes none blocks the client
	changed chan struct{}       // some reader has taken more
	lost    chan struct{}       // closed when input was lost on its way
	once    sync.Once

	mu          sync.Mutex
	readers     []*reader
	ended       bool   // the client has sent the end
	distributed uint64 // offset after what the readers were given
}

func newInputs() *inputs {
	return &inputs{input: make(chan *scorev1.Stdin), changed: make(chan struct{}, 1), lost: make(chan struct{})}
}

// reader returns a new reader for a source. Earlier input went to earlier sources.
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

// lose ends the attachment because input may be lost.
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
// attachment has brought: a client sends again what an earlier attachment brought if it got no
// acknowledgement.
func (in *inputs) taken() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	lowest, found := uint64(math.MaxUint64), false
	for _, r := range in.readers {
		if offset, all := r.takenUpTo(); !all {
			lowest, found = min(lowest, offset), true
		}
	}
	if !found {
		return in.distributed
	}
	return lowest
}

// acknowledgeable returns taken, unless input was lost: a source that has ended counts as one that
// has taken all, also if it ended because of that.
func (in *inputs) acknowledgeable() (offset uint64, err error) {
	offset = in.taken()
	if in.isLost() { // which is known before the source ends
		return 0, errInputLost
	}
	return offset, nil
}

// distribute gives the client's input to every reader of an attempt. A reader that does not take it
// blocks the client until the reader's source has ended. Input that an earlier attempt took is
// gone, but its end is sent again.
func (in *inputs) distribute(ctx context.Context, readers []*reader) {
	if end := in.end(); end != nil {
		distribute(ctx, end, readers)
	}
	for {
		select {
		case input := <-in.input:
			in.note(input)
			distribute(ctx, input, readers)
		case <-ctx.Done():
			return
		}
	}
}

// end returns the end of the input, if the client has sent it.
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

func distribute(ctx context.Context, input *scorev1.Stdin, readers []*reader) {
	for _, r := range readers {
		select {
		case r.input <- input:
		case <-r.over:
		case <-ctx.Done():
		}
	}
}
