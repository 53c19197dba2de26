package uct

import (
	"context"
	"score/pm"
	"score/pm/mem"
)

// Open opens a channel of this process, which must have been started as a rank, with a worker and a
// memory domain of its own. Peers of the node may copy from and to this process from then on, if
// the system lets it allow that. Close of the interface closes all of it. Errors are pm.Open's.
func Open(channel int, options ...pm.OpenOption) (*Iface, error) {
	ch, err := pm.Open(channel, options...)
	if err != nil {
		return nil, err
	}
	_ = mem.Allow() // without it long transfers are copied twice
	i := NewWorker().Open(ch, NewMD(0))
	i.owner = true
	return i, nil
}

// Worker returns the interface's worker.
func (i *Iface) Worker() *Worker { return i.worker }

// MD is the interface's memory domain.
func (i *Iface) MD() *MD { return i.md }

// Rank is this rank's number.
func (i *Iface) Rank() int { return i.ch.Rank() }

// Ranks is the number of ranks of the job.
func (i *Iface) Ranks() int { return i.ch.Size() }

// Do begins an operation, with progress while resources are short, and waits until it has ended.
// begin is called until it does not return ErrAgain, and passes done on. The error is the
// operation's, or the context's; then the operation may go on, and its memory stays in use.
//
//	err := w.Do(ctx, func(done uct.Completion) error { return ep.Put(data, to, done) })
func (w *Worker) Do(ctx context.Context, begin func(done Completion) error) error {
	var o outcome
	err := begin(&o)
	for ; err == ErrAgain; err = begin(&o) { //nolint:errorlint // operations return this very value
		if err := w.Turn(ctx); err != nil {
			return err
		}
	}
	for err == nil && !o.ended {
		if err := w.Turn(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return o.err
}

// Turn makes progress or, if there is none to make, waits until there is. Programs call it until
// what they wait for has come. The error is the context's, or ErrClosed.
func (w *Worker) Turn(ctx context.Context) error {
	if w.Progress() > 0 {
		return ctx.Err()
	}
	return w.Wait(ctx)
}

// outcome keeps the result of a completion.
type outcome struct {
	ended bool
	err   error
}

// Complete implements Completion.
func (o *outcome) Complete(err error) { o.ended, o.err = true, err }
