package service

import (
	"context"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Life is the lifetime of a daemon.
type Life struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	caught  chan os.Signal
	reloads chan struct{}
	parts   sync.WaitGroup
}

// Begin starts to handle signals. ^C ends the context; SIGTERM ends it with the cause onTerm,
// unless that is nil. SIGHUP requests that the configuration is read again; if standard input is a
// terminal, SIGHUP means that the terminal is gone, and ends the context like ^C. End must be
// called.
func Begin(parent context.Context, onTerm error) *Life {
	return begin(parent, onTerm, term.IsTerminal(int(os.Stdin.Fd())))
}

func begin(parent context.Context, onTerm error, terminal bool) *Life {
	l := &Life{caught: make(chan os.Signal, 1), reloads: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancelCause(parent)
	signal.Notify(l.caught, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	l.parts.Go(func() {
		for {
			select {
			case received := <-l.caught:
				l.take(received, onTerm, terminal)
			case <-l.ctx.Done():
				stopping()
				return
			}
		}
	})
	return l
}

func (l *Life) take(received os.Signal, onTerm error, terminal bool) {
	switch {
	case received == unix.SIGTERM:
		l.cancel(onTerm)
	case received == unix.SIGHUP && !terminal:
		select {
		case l.reloads <- struct{}{}:
		default: // one is waiting, and will read what is there then
		}
	default:
		l.cancel(nil)
	}
}

// Context returns a context that ends when the daemon must end.
func (l *Life) Context() context.Context { return l.ctx }

// Reloads returns a channel that yields a value when the daemon must read its configuration again;
// several requests may become one value.
func (l *Life) Reloads() <-chan struct{} { return l.reloads }

// Go runs a part of the daemon, which must end with the context. End waits for it.
func (l *Life) Go(part func()) { l.parts.Go(part) }

// End restores the handling of signals, ends the context and waits for the parts.
func (l *Life) End() {
	signal.Stop(l.caught)
	l.cancel(nil)
	l.parts.Wait()
}
