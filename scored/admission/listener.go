package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"score/scored/api/agentpb"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/handshake"
	"sync"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// maxNewcomers bounds the newcomers whose request has not come yet, maxNewcomersPerAddress
	// those of one address: a cluster's hosts may be installed all at once, and a host asks for a
	// few certificates.
	maxNewcomers           = 256
	maxNewcomersPerAddress = 16
	// maxAdmissions bounds the newcomers that are served at once, each with an entry in the log of
	// the cluster.
	maxAdmissions = 16
)

// Route is a kind of connections between daemons: a daemon that speaks one of the protocols (ALPN)
// must have one of the roles.
type Route struct {
	Protocols []string
	Roles     []pki.Role
}

// Listener passes on the connections of daemons that have shown a certificate, and serves newcomers
// itself.
type Listener struct {
	registrar *Registrar
	met       *handshake.Listener
	ready     map[string]chan *tls.Conn // by protocol; protocols of a route share one
	newcomers handshake.Waiting         // whose request has not come yet
	slots     chan struct{}             // of those that are served
	ctx       context.Context           //nolint:containedctx // the listener's life, which its connections share
	stop      context.CancelCauseFunc
	work      sync.WaitGroup
	strangers *zap.Logger
}

// Listen accepts daemons and newcomers on the listener, which the Listener owns from now on.
func (r *Registrar) Listen(listener net.Listener, routes ...Route) *Listener {
	ctx, stop := context.WithCancelCause(context.Background())
	l := &Listener{
		registrar: r, ready: make(map[string]chan *tls.Conn), slots: make(chan struct{}, maxAdmissions),
		newcomers: handshake.Waiting{Max: maxNewcomers, MaxPerAddress: maxNewcomersPerAddress},
		ctx:       ctx, stop: stop, strangers: handshake.Sampled(r.Logger),
	}
	configs := make(map[string]*tls.Config)
	for _, route := range routes {
		ready, config := make(chan *tls.Conn), r.Credentials.Server(route.Roles...)
		config.NextProtos = route.Protocols
		for _, protocol := range route.Protocols {
			l.ready[protocol], configs[protocol] = ready, config
		}
	}
	newcomers := r.Credentials.NewcomerConfig()
	newcomers.NextProtos = []string{join.Protocol}
	config := &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			for _, protocol := range hello.SupportedProtos {
				if protocol == join.Protocol {
					return newcomers, nil
				}
				if config := configs[protocol]; config != nil {
					return hello.Conn.(*pki.Conn).Config(config), nil // the connection is made below
				}
			}
			return nil, errNoProtocol
		},
	}
	l.met = handshake.Listen(listener, func(raw net.Conn) *tls.Conn { return tls.Server(r.Credentials.Watch(raw), config) }, r.Logger)
	l.work.Go(l.route)
	return l
}

// errNoProtocol is a connection for an unknown protocol.
var errNoProtocol = errors.New("the other side speaks none of the daemons' protocols")

// Of returns a listener for the connections of the route that a protocol belongs to.
func (l *Listener) Of(protocol string) net.Listener { return &branch{l, l.ready[protocol]} }

// branch is one route of a Listener. Closing one closes all.
type branch struct {
	*Listener
	ready chan *tls.Conn
}

// route passes connections to their branches until the listener is closed.
func (l *Listener) route() {
	for {
		conn, err := l.met.Accept()
		if err != nil {
			l.stop(err)
			return
		}
		l.work.Go(func() { l.pass(conn.(*tls.Conn)) }) // all of the Listener's are
	}
}

func (l *Listener) pass(conn *tls.Conn) {
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

// serveNewcomer answers the request of one newcomer.
func (l *Listener) serveNewcomer(conn *tls.Conn) {
	defer func() { _ = conn.Close() }() // the exchange is over, or the newcomer went away
	guest := l.newcomers.Add(conn.NetConn())
	ctx, cancel := context.WithTimeout(l.ctx, join.Timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })() // wakes what waits
	request := new(agentpb.JoinRequest)
	err := join.Read(conn, request)
	if err == nil {
		err = l.slot(ctx)
	}
	if err == nil {
		defer func() { <-l.slots }()
	}
	if crowded := guest.Leave(); crowded != nil {
		err = crowded
	}
	if err != nil {
		if l.ctx.Err() == nil {
			l.strangers.Warn("a newcomer was turned away", zap.Stringer("from", conn.RemoteAddr()), zap.Error(err))
		}
		return
	}
	answer, err := l.registrar.receive(ctx, request)
	if err != nil {
		answer = &agentpb.JoinResponse{Refused: plain(err)}
		l.strangers.Warn("a newcomer was refused", zap.Stringer("from", conn.RemoteAddr()), zap.Error(err))
	}
	_ = join.Write(conn, answer) // a newcomer that went away has wasted its token
}

// slot waits until one more newcomer may be served.
func (l *Listener) slot(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// plain returns the sentence of an error, which may come from another server.
func plain(err error) string {
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		return refused.Message()
	}
	return err.Error()
}

// Accept implements net.Listener; the connections are *tls.Conn whose handshake is over.
func (b *branch) Accept() (net.Conn, error) { return handshake.Next(b.ctx, b.ready) }

// Close ends listening, and waits for the conversations that are under way, which it cuts short.
func (l *Listener) Close() error {
	l.stop(net.ErrClosed)
	err := l.met.Close()
	l.work.Wait()
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.met.Addr() }
