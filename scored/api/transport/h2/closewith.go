package h2

import "context"

// Stream is both directions of a call that this side began, as of connect.BidiStreamForClient.
type Stream interface {
	CloseRequest() error
	CloseResponse() error
}

// CloseWith closes a stream when ctx, that of its call, ends, and then the returned channel. The
// end of the context alone does not wake a stream of net/http whose request waits, for more to send
// or for the other side to take more.
func CloseWith(ctx context.Context, stream Stream) (closed <-chan struct{}) {
	done := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(done)
		_ = stream.CloseRequest()  // the call has ended: nobody can make use of an error,
		_ = stream.CloseResponse() // nor of this one
	})
	return done
}
