package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// timeout bounds how long a connection may take to authenticate: some round trips.
	timeout = 5 * time.Second
	// maxPending bounds the unauthenticated connections: all nodes of a large cluster come at once
	// after a restart of a server, and each needs a millisecond of a processor.
	maxPending = 1024
	// maxPendingPerAddress bounds those of one address: the daemons of one host.
	maxPendingPerAddress = 128
	// linesPerSecond bounds the lines of the log about refused connections, for each reason.
	linesPerSecond = 5
	// retryPause is the pause in accepting when the process has no descriptors left.
	retryPause = 50 * time.Millisecond
)

// Sampled returns a logger for events that strangers can cause as often as they like.
func Sampled(logger *zap.Logger) *zap.Logger {
	return logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, linesPerSecond, 0)
	}))
}

// Listener accepts connections and returns those whose handshake is over.
type Listener struct {
	listener net.Listener
	start    func(net.Conn) *tls.Conn
	logger   *zap.Logger
	waiting  Waiting
	ready    chan *tls.Conn
	ctx      context.Context //nolint:containedctx // the listener's life, which its connections share
	stop     context.CancelCauseFunc
	work     sync.WaitGroup
}

// Listen accepts connections on the listener, which the Listener owns from now on. start makes the
// server's side of a connection.
func Listen(listener net.Listener, start func(net.Conn) *tls.Conn, logger *zap.Logger) *Listener {
	ctx, stop := context.WithCancelCause(context.Background())
	l := &Listener{
		listener: listener, start: start, logger: Sampled(logger), ready: make(chan *tls.Conn), ctx: ctx, stop: stop,
		waiting: Waiting{Max: maxPending, MaxPerAddress: maxPendingPerAddress},
	}
	l.work.Go(l.accept)
	return l
}

// accept takes connections until the listener is closed.
func (l *Listener) accept() {
	for {
		conn, err := l.listener.Accept()
		if err == nil {
			pending := l.waiting.Add(conn)
			l.work.Go(func() { l.identify(conn, pending) })
			continue
		}
		if l.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			l.stop(err)
			return
		}
		time.Sleep(retryPause)
	}
}

// identify does the handshake of a connection.
func (l *Listener) identify(raw net.Conn, pending *Pending) {
	conn := l.start(raw)
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	err := conn.HandshakeContext(ctx)
	cancel()
	if crowded := pending.Leave(); crowded != nil {
		err = crowded
	}
	if err != nil {
		_ = conn.NetConn().Close() // nothing more is sent on it
		if l.ctx.Err() == nil {
			l.logger.Warn("a connection was turned away", zap.Stringer("from", raw.RemoteAddr()), zap.Error(err))
		}
		return
	}
	select {
	case l.ready <- conn:
	case <-l.ctx.Done():
		_ = conn.Close() // it was never used
	}
}

// Accept implements net.Listener; the connections are *tls.Conn.
func (l *Listener) Accept() (net.Conn, error) { return Next(l.ctx, l.ready) }

// Next returns the next ready connection, or the cause of the end of ctx.
func Next(ctx context.Context, ready <-chan *tls.Conn) (net.Conn, error) {
	select {
	case conn := <-ready:
		return conn, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close implements net.Listener. It ends the handshakes that are under way.
func (l *Listener) Close() error {
	l.stop(net.ErrClosed)
	err := l.listener.Close()
	l.work.Wait()
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }
