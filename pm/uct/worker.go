package uct

import (
	"context"
	"errors"
	"score/pm"
	"slices"
	"time"
)

// Worker drives interfaces. One goroutine uses it, and all that belongs to it, at a time.
type Worker struct {
	ifaces []*Iface
}

// NewWorker returns a worker without interfaces.
func NewWorker() *Worker { return &Worker{} }

// Progress handles what has come, sends what was waiting, and returns how many messages and
// pieces these were. Its work grows with the peers that have something, not with all peers. Called
// by a handler or a completion it does nothing.
func (w *Worker) Progress() int {
	n := 0
	for _, i := range w.ifaces {
		n += i.progress()
	}
	if n > 0 {
		w.awake()
	}
	return n
}

// Wait waits until Progress may have something to do. It spins, then sleeps. With several
// interfaces it polls each of them once instead. The error is the context's, or ErrClosed.
func (w *Worker) Wait(ctx context.Context) error {
	if len(w.ifaces) != 1 {
		return ctx.Err()
	}
	return w.ifaces[0].wait(ctx)
}

// Nap is Wait for a program that polls: it sleeps for at most the given time, and not at all if
// stop returns true. The node sees successive naps as one wait, until Progress finds something.
func (w *Worker) Nap(timeout time.Duration, stop func() bool) {
	if len(w.ifaces) == 1 {
		w.ifaces[0].nap(timeout, stop)
	}
}

// WaitBeside is Wait for a goroutine beside a program that computes: it does not report to the node
// that the rank waits.
func (w *Worker) WaitBeside(ctx context.Context) error {
	if len(w.ifaces) != 1 {
		return ctx.Err()
	}
	return w.ifaces[0].ch.Beside(func() error { return w.ifaces[0].wait(ctx) })
}

// Close closes the interfaces.
func (w *Worker) Close() error {
	var errs []error
	for len(w.ifaces) > 0 {
		errs = append(errs, w.ifaces[0].Close())
	}
	return errors.Join(errs...)
}

// awake ends the wait that naps have reported to the node.
func (w *Worker) awake() {
	for _, i := range w.ifaces {
		i.ch.Awake()
	}
}

func (w *Worker) remove(i *Iface) {
	w.ifaces = slices.DeleteFunc(w.ifaces, func(have *Iface) bool { return have == i })
}

// Open makes an interface of an open channel, which nobody else may use from then on.
func (w *Worker) Open(ch *pm.Channel, md *MD) *Iface {
	i := &Iface{worker: w, ch: ch, md: md, eps: make([]*EP, ch.Size()), crowded: ch.Crowded()}
	i.maxPayload = ch.MaxMessage() - HeadBytes
	i.onWhole = i.handleWhole
	i.installHandlers()
	ch.Count(i.report)
	w.ifaces = append(w.ifaces, i)
	if ch.Flow() == pm.FlowNack {
		i.bulkLink() // the agent's answer would take longer than the first long transfer
	}
	return i
}
