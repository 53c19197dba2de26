package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"connectrpc.com/connect"
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

// Way is one of those on which daemons may come: who speaks one of the protocols (ALPN) must have
// one of the roles.
type Way struct {
	Protocols []string
	Roles     []pki.Role
}

// Listener gives the connections of daemons that have shown a certificate, and serves newcomers itself.
type Listener struct {
	office    *Office
	listener  net.Listener
	config    *tls.Config
	ready     map[string]chan *tls.Conn // by protocol; ways share one
	slots     chan struct{}
	ctx       context.Context //nolint:containedctx // the listener's life, which its connections share
	stop      context.CancelCauseFunc
	work      sync.WaitGroup
	strangers *zap.Logger // for what strangers can cause as often as they like
}

// Listen lets daemons come to the listener, which is the Listener's from now on, and newcomers.
func (o *Office) Listen(listener net.Listener, ways ...Way) *Listener {
	ctx, stop := context.WithCancelCause(context.Background())
	l := &Listener{
		office: o, listener: listener, ready: make(map[string]chan *tls.Conn), slots: make(chan struct{}, maxHandshakes),
		ctx: ctx, stop: stop, strangers: o.Logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
			return zapcore.NewSamplerWithOptions(core, time.Second, linesPerSecond, 0)
		})),
	}
	configs := make(map[string]*tls.Config)
	for _, way := range ways {
		ready, config := make(chan *tls.Conn), o.Credentials.Server(way.Roles...)
		config.NextProtos = way.Protocols
		for _, protocol := range way.Protocols {
			l.ready[protocol], configs[protocol] = ready, config
		}
	}
	door := o.Credentials.Door()
	door.NextProtos = []string{join.Protocol}
	l.config = &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			for _, protocol := range hello.SupportedProtos {
				if protocol == join.Protocol {
					return door, nil
				}
				if config := configs[protocol]; config != nil {
					return hello.Conn.(*pki.Conn).Config(config), nil // meet has made it
				}
			}
			return nil, errNoProtocol
		},
	}
	l.work.Go(l.accept)
	return l
}

// errNoProtocol is somebody who did not come for anything that is here.
var errNoProtocol = errors.New("the other side speaks none of the daemons' protocols")

// Of gives the connections of the way to which a protocol belongs.
func (l *Listener) Of(protocol string) net.Listener { return &branch{l, l.ready[protocol]} }

// branch is one way of a Listener. The first that is closed closes all.
type branch struct {
	*Listener
	ready chan *tls.Conn
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
	raw = l.office.Credentials.Watch(raw)
	conn := tls.Server(raw, l.config)
	ctx, cancel := context.WithTimeout(l.ctx, handshakeTimeout)
	err := conn.HandshakeContext(ctx)
	cancel()
	<-l.slots
	if err != nil {
		l.turnAway(raw, err)
		return
	}
	protocol := conn.ConnectionState().NegotiatedProtocol
	if protocol == join.Protocol {
		l.serveNewcomer(conn)
		return
	}
	select {
	case l.ready[protocol] <- conn:
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
	answer, err := l.office.receive(ctx, request)
	if err != nil {
		answer = &scorev1.JoinResponse{Refused: plain(err)}
		l.strangers.Warn("a newcomer was refused", zap.Stringer("from", conn.RemoteAddr()), zap.Error(err))
	}
	_ = join.Write(conn, answer) // who went away has wasted a token
}

// plain is the sentence of an error, which may come from another server.
func plain(err error) string {
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		return refused.Message()
	}
	return err.Error()
}

// Accept implements net.Listener; the connections are *tls.Conn whose handshake is over.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case conn := <-b.ready:
		return conn, nil
	case <-b.ctx.Done():
		return nil, context.Cause(b.ctx)
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
