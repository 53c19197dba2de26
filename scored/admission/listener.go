package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"score/scored/api/join"
	"score/scored/api/pki"
	"score/scored/api/scorev1"
)

const (
	// handshakeTimeout bounds how long a connection may take to show who it is: some round trips.
	handshakeTimeout = 5 * time.Second
	// maxHandshakes bounds those that have not shown it yet; who comes then waits in the kernel's queue, so that
	// thousands who connect and say nothing cost neither memory nor descriptors.
	maxHandshakes = 256
	// linesPerSecond bounds the lines of the log about who was turned away, for each reason.
	linesPerSecond = 5
)

// Listener gives the connections of daemons that have shown a certificate, and serves newcomers itself.
type Listener struct {
	office    *Office
	listener  net.Listener
	config    *tls.Config
	ready     chan *tls.Conn
	slots     chan struct{}
	ctx       context.Context //nolint:containedctx // the listener's life, which its connections share
	stop      context.CancelCauseFunc
	work      sync.WaitGroup
	strangers *zap.Logger // for what strangers can cause as often as they like
}

var _ net.Listener = (*Listener)(nil)

// Listen lets daemons of the roles in that come to the listener, which is the Listener's from now on, and
// newcomers. protocols are those that the daemons speak (ALPN).
func (o *Office) Listen(listener net.Listener, protocols []string, roles ...pki.Role) *Listener {
	ctx, stop := context.WithCancelCause(context.Background())
	l := &Listener{
		office: o, listener: listener, ready: make(chan *tls.Conn), slots: make(chan struct{}, maxHandshakes),
		ctx: ctx, stop: stop, strangers: o.Logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
			return zapcore.NewSamplerWithOptions(core, time.Second, linesPerSecond, 0)
		})),
	}
	daemons, door := o.Credentials.Server(roles...), o.Credentials.Door()
	daemons.NextProtos, door.NextProtos = protocols, []string{join.Protocol}
	l.config = &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if slices.Contains(hello.SupportedProtos, join.Protocol) {
				return door, nil
			}
			return daemons, nil
		},
	}
	l.work.Go(l.accept)
	return l
}

// accept takes connections until the listener is closed.
func (l *Listener) accept() {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.ctx.Done():
			return
		}
		conn, err := l.listener.Accept()
		if err != nil {
			<-l.slots
			if l.ctx.Err() == nil && retry(err) {
				continue
			}
			l.stop(err)
			return
		}
		l.work.Go(func() { l.meet(conn) })
	}
}

// retryPause is how long nothing is accepted when the process has no descriptors left.
const retryPause = 50 * time.Millisecond

// retry says whether another connection may be had, after a pause.
func retry(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	time.Sleep(retryPause)
	return true
}

// meet finds out who comes.
func (l *Listener) meet(raw net.Conn) {
	conn := tls.Server(raw, l.config)
	ctx, cancel := context.WithTimeout(l.ctx, handshakeTimeout)
	err := conn.HandshakeContext(ctx)
	cancel()
	<-l.slots
	if err != nil {
		l.turnAway(raw, err)
		return
	}
	if conn.ConnectionState().NegotiatedProtocol == join.Protocol {
		l.serveNewcomer(conn)
		return
	}
	select {
	case l.ready <- conn:
	case <-l.ctx.Done():
		_ = conn.Close() // it was never used
	}
}

func (l *Listener) turnAway(raw net.Conn, err error) {
	raw.Close()
	if l.ctx.Err() == nil {
		l.strangers.Warn("a connection was turned away", zap.Stringer("from", raw.RemoteAddr()), zap.Error(err))
	}
}

// serveNewcomer has the one conversation with who wants to join.
func (l *Listener) serveNewcomer(conn *tls.Conn) {
	defer func() { _ = conn.Close() }() // all was said, or he went away
	ctx, cancel := context.WithTimeout(l.ctx, join.Timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // wakes what waits
	request := new(scorev1.JoinRequest)
	if err := join.Read(conn, request); err != nil {
		l.turnAway(conn, err)
		return
	}
	answer, err := l.office.admit(ctx, request)
	if err != nil {
		answer = &scorev1.JoinResponse{Refused: err.Error()}
		l.strangers.Warn("a newcomer was refused", zap.Stringer("from", conn.RemoteAddr()), zap.Error(err))
	}
	_ = join.Write(conn, answer) // who went away has wasted a token
}

// Accept implements net.Listener; the connections are *tls.Conn whose handshake is over.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.ready:
		return conn, nil
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	}
}

// Close ends listening, and waits for the conversations that are under way, which it cuts short.
func (l *Listener) Close() error {
	l.stop(net.ErrClosed)
	err := l.listener.Close()
	l.work.Wait()
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }
