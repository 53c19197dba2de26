package main

import (
	"context"
	"score/scored/api/scorev1"
	"sync"
)

// inputKept bounds the bytes of input that scrun keeps until the ranks have them: a few messages in
// flight.
const inputKept = 8 * inputChunk

// inputRoom is the room for kept input, which moves through it: twice as much as there may be, so
// that no byte is moved to its start more than once.
const inputRoom = 2 * (inputKept + inputChunk)

// sentInput keeps input until the ranks have acknowledged it. It sends the input on the current
// attachment, and again on the next one if the ranks may not have it.
type sentInput struct {
	streams *attachments
	ready   chan struct{} // there is something to send
	room    chan struct{} // there is room for more

	mu     sync.Mutex
	memory []byte // of inputRoom bytes; kept is a part of it
	first  uint64 // offset of kept in the input
	kept   []byte
	piece  []byte            // the data of the last message of next
	ended  bool              // the input ends after kept; the end counts as one byte
	sent   uint64            // offset up to which input was sent on stream
	stream *attachment       // the stream to which sent refers
	resize *scorev1.Terminal // to be sent; nil: nothing
}

func newSentInput(streams *attachments) *sentInput {
	return &sentInput{streams: streams, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// add adds a piece of input. It blocks while too much is unacknowledged, so that a job that does
// not read slows its source down.
func (s *sentInput) add(ctx context.Context, input *scorev1.Stdin) error {
	for !s.put(input) {
		select {
		case <-s.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	signalOn(s.ready)
	return nil
}

// put adds a piece of input and reports whether there was room.
func (s *sentInput) put(input *scorev1.Stdin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if input.GetResize() != nil {
		s.resize = input.GetResize()
		return true
	}
	if len(s.kept) >= inputKept {
		return false
	}
	s.keep(input.GetData())
	s.ended = s.ended || input.GetEof()
	return true
}

// keep appends to kept.
func (s *sentInput) keep(data []byte) {
	if s.memory == nil {
		s.memory = make([]byte, inputRoom)
		s.kept = s.memory[:0]
	}
	if cap(s.kept)-len(s.kept) < len(data) {
		s.kept = s.memory[:copy(s.memory, s.kept)]
	}
	s.kept = append(s.kept, data...)
}

// taken records that the ranks have the input up to an offset.
func (s *sentInput) taken(offset uint64) {
	s.mu.Lock()
	s.drop(offset)
	s.mu.Unlock()
	signalOn(s.room)
}

// drop discards the input before an offset.
func (s *sentInput) drop(offset uint64) {
	offset = min(offset, s.first+uint64(len(s.kept)))
	if offset <= s.first {
		return
	}
	s.kept = s.kept[offset-s.first:]
	s.first = offset
	s.sent = max(s.sent, offset)
}

// run sends until ctx ends.
func (s *sentInput) run(ctx context.Context) {
	for {
		stream, changed := s.streams.current()
		message := s.next(stream)
		switch {
		case message == nil:
			select {
			case <-s.ready:
			case <-changed:
			case <-ctx.Done():
				return
			}
		case s.streams.sendOn(stream, &scorev1.AttachRequest{Request: &scorev1.AttachRequest_Stdin{Stdin: message}}) != nil:
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
		signalOn(s.room)
	}
}

// next returns the next message for a stream; nil: none. Its data are valid until the next call.
func (s *sentInput) next(stream *attachment) *scorev1.Stdin {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream == nil {
		return nil
	}
	if stream != s.stream {
		s.stream, s.sent = stream, s.first // what was in flight to the last one may be lost
	}
	if s.resize != nil {
		message := &scorev1.Stdin{Resize: s.resize}
		s.resize = nil
		return message
	}
	at, end := s.sent, s.first+uint64(len(s.kept))
	switch {
	case at < end:
		piece := s.kept[at-s.first:]
		s.piece = append(s.piece[:0], piece[:min(len(piece), inputChunk)]...) // kept may move while it is sent
		s.sent += uint64(len(s.piece))
		return &scorev1.Stdin{Data: s.piece, Offset: &at}
	case at == end && s.ended:
		s.sent++
		return &scorev1.Stdin{Eof: true, Offset: &at}
	default:
		return nil
	}
}

// signalOn sends a signal, unless one is pending.
func signalOn(changed chan struct{}) {
	select {
	case changed <- struct{}{}:
	default: // one is pending
	}
}
