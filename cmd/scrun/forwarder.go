package main

import (
	"context"
	"fmt"
	"os"
	"score/cmd/scrun/options"
	"score/nodeagent/stdio"
	"score/scored/api/scorev1"
	"sync"
	"sync/atomic"
)

// forwarder forwards scrun's input to the ranks: a pump reads it, sentInput keeps and sends it.
type forwarder struct {
	file    *os.File      // nil: there is no input
	raw     *rawTerminal  // file, if rank 0 has a terminal of its own; otherwise nil
	hint    bool          // ptyHint may still be printed
	lost    atomic.Bool   // the file could not be read to its end
	escaped chan struct{} // gets an element when the user has typed the terminal's escape

	messenger messenger
	sent      *sentInput
	ctx       context.Context
	cancel    context.CancelFunc // ends ctx, and with it the streams
	pump      *pump              // nil before start, and without a file
	unfollow  func()             // ends the watch on the size of raw; nil: there is none
	sending   sync.WaitGroup
}

// inputOf opens the input of a job; nil: it has none, or the nodes open it.
func inputOf(o *options.Options) (*os.File, error) {
	switch {
	case o.Stdin.Kind == stdio.None || o.InputByNodes():
		return nil, nil
	case o.Stdin.Kind == stdio.File:
		return inputFile(o.Stdin.Pattern.String())
	default:
		return os.Stdin, nil
	}
}

// begin prepares to send input on a job's streams, which end with ctx.
func (f *forwarder) begin(ctx context.Context, cancel context.CancelFunc, streams *attachments, messages messenger) {
	f.ctx, f.cancel, f.messenger = ctx, cancel, messages
	f.sent, f.escaped = newSentInput(streams), make(chan struct{}, 1)
}

// start starts to forward the input, if there is any.
func (f *forwarder) start() (err error) {
	if f.file == nil {
		return nil
	}
	var found *escapes
	if f.raw != nil {
		found = new(escapes)
	}
	if f.pump, err = startPump(f.file, f, found); err != nil {
		return err
	}
	f.sending.Go(func() { f.sent.run(f.ctx) })
	if f.raw != nil {
		f.unfollow = f.pump.followSize()
	}
	return nil
}

// stop ends the forwarding, if it was started, together with the streams.
func (f *forwarder) stop() {
	if f.pump == nil {
		return
	}
	if f.unfollow != nil {
		f.unfollow()
	}
	f.cancel() // frees a send that waits for the ranks to read
	f.pump.Stop()
	f.sending.Wait()
}

// receive implements receiver.
func (f *forwarder) receive(input *scorev1.Stdin) error {
	if f.hint && len(input.GetData()) > 0 {
		f.hint = false
		f.messenger.warn(ptyHint)
	}
	return f.sent.add(f.ctx, input)
}

// onFailed implements receiver. It warns that the ranks see an end of the input that is not its
// real end.
func (f *forwarder) onFailed(err error) {
	f.lost.Store(true)
	f.messenger.print(fmt.Sprintf("cannot read the input: %v; the ranks have what was before", err))
}

// onEscape implements receiver.
func (f *forwarder) onEscape() { signalOn(f.escaped) }
