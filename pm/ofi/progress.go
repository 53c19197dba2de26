package ofi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// quietFor is how long the program must have left a domain alone before progress is made for it: a
// program that polls by itself is faster, and must not find the lock taken.
const quietFor = time.Millisecond

// gate is a domain's lock. A goroutine that waits for messages holds it, and releases it when
// another wants it.
type gate struct {
	mu     sync.Mutex
	wanted atomic.Int32
	waiter atomic.Pointer[context.CancelFunc]
	polls  atomic.Uint64 // how often the program took it
}

func (g *gate) lock() {
	if g.mu.TryLock() {
		return
	}
	g.wanted.Add(1)
	if interrupt := g.waiter.Load(); interrupt != nil {
		(*interrupt)()
	}
	g.mu.Lock()
	g.wanted.Add(-1)
}

// wait calls f with a context that ends when somebody wants the lock, which the caller holds.
func (g *gate) wait(ctx context.Context, f func(context.Context) error) error {
	inner, interrupt := context.WithCancel(ctx)
	defer interrupt()
	g.waiter.Store(&interrupt)
	defer g.waiter.Store(nil)
	if g.wanted.Load() > 0 {
		return nil // it was wanted before the waiter was known
	}
	if err := f(inner); err != nil && inner.Err() == nil {
		return err
	}
	return ctx.Err()
}

func (g *gate) isWanted() bool { return g.wanted.Load() > 0 }

// Lock keeps other goroutines out of the domain and its objects until Unlock.
func (d *Domain) Lock() {
	d.gate.lock()
	d.gate.polls.Add(1)
}

// Unlock ends what Lock began.
func (d *Domain) Unlock() { d.gate.mu.Unlock() }

// Wait waits until Progress may have something to do, or another goroutine wants the lock, which
// the caller holds if several use the domain. The error is the context's.
func (d *Domain) Wait(ctx context.Context) error { return d.gate.wait(ctx, d.worker.Wait) }

// Nap sleeps until Progress may have something to do, another goroutine wants the lock, or the time
// is over. It is for programs that poll the queue for something that does not come: unlike Wait it
// does not poll first, and the node sees successive naps as one wait with a deadline. It does not
// sleep if the queue has an entry: another goroutine may have put it there after the program's
// read.
func (d *Domain) Nap(timeout time.Duration, c *CQ) {
	d.gate.waiter.Store(&d.rouse)
	defer d.gate.waiter.Store(nil)
	d.worker.Nap(timeout, func() bool { return d.gate.isWanted() || c.filled() })
}

// automatic is the goroutine that makes progress for a program that computes.
type automatic struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// StartProgress starts a goroutine that makes progress while the program does not, until
// StopProgress or Close: so peers' one-sided operations are served although the program makes no
// call. From then on each use of the domain needs Lock. The goroutine sleeps until something comes;
// while the program polls by itself, the goroutine only reads a counter each millisecond.
func (d *Domain) StartProgress() {
	if d.auto != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &automatic{stop: stop, ended: make(chan struct{})}
	d.auto = a
	go func() {
		defer close(a.ended)
		d.progressWhile(ctx)
	}()
}

// StopProgress ends the goroutine that StartProgress began, and waits for it. The caller must not
// hold the lock.
func (d *Domain) StopProgress() {
	if d.auto == nil {
		return
	}
	d.auto.stop()
	<-d.auto.ended
	d.auto = nil
}

func (d *Domain) progressWhile(ctx context.Context) {
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	for seen := d.gate.polls.Load(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := d.gate.polls.Load(); now != seen {
			seen = now
			continue
		}
		for d.gate.polls.Load() == seen && d.progressOnce(ctx) == nil {
		}
	}
}

// progressOnce waits until something comes and handles it.
func (d *Domain) progressOnce(ctx context.Context) error {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	err := d.gate.wait(ctx, d.worker.WaitBeside)
	for err == nil && d.gate.wanted.Load() == 0 && d.Progress() > 0 {
	}
	return err
}
