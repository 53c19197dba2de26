package userproxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/socket"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

const (
	// takeRetry is the time between attempts to take a socket that another agent of this host has.
	takeRetry = time.Second
)

// Servers lists the cluster's servers by their base URLs; see package uplink.
type Servers interface {
	Servers() []string
	// Leader returns the leader's URL, as far as it is known; "": none.
	Leader() string
	// LeaderChanged is closed when Leader may give another answer.
	LeaderChanged() <-chan struct{}
}

// Options of a proxy; all are needed.
type Options struct {
	// Socket is the path at which users' programs call. Of several agents of a host one has it.
	Socket string
	// Credentials are the agent's credentials.
	Credentials *pki.Credentials
	Servers     Servers
	Logger      *zap.Logger
}

// Proxy serves the users of a host. Make it with New and run it once.
type Proxy struct {
	options   Options
	forwarder *forwarder
	calls     *http.Transport // to the servers; the stream to the leader has its own, so that users cannot delay it
	reported  string          // the last reported reason why there is no socket
}

// New makes a proxy.
func New(options Options) *Proxy {
	calls := h2.NewTransport(options.Credentials, pki.Server)
	calls.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return h2.Dial(ctx, options.Credentials, address, pki.Server)
	}
	return &Proxy{options: options, calls: calls, forwarder: newForwarder(options.Servers, calls, options.Logger)}
}

// Run serves until ctx ends. If the socket is taken, it logs that once and tries again: the node
// works without.
func (p *Proxy) Run(ctx context.Context) {
	defer p.calls.CloseIdleConnections()
	for ctx.Err() == nil {
		held, err := listen(p.options.Socket)
		if err == nil {
			err = p.serve(ctx, held)
		}
		p.logError(err)
		select {
		case <-time.After(takeRetry):
		case <-ctx.Done():
		}
	}
}

func (p *Proxy) logError(err error) {
	if err == nil || err.Error() == p.reported {
		return
	}
	p.reported = err.Error()
	if errors.Is(err, errOtherAgent) {
		p.options.Logger.Info("another agent of this host serves its users", zap.String("socket", p.options.Socket))
		return
	}
	p.options.Logger.Warn("the users of this host are not served by its agent", zap.Error(err))
}

// serve serves at a socket until ctx ends, and releases it.
func (p *Proxy) serve(ctx context.Context, held *ownedSocket) error {
	defer held.release()
	server := h2.NewSocketServer(p.handler())
	server.ErrorLog, _ = zap.NewStdLogAt(p.options.Logger, zap.DebugLevel) // the level exists
	server.ConnContext = withUser
	var ending sync.WaitGroup
	served := make(chan struct{})
	ending.Go(func() {
		select {
		case <-ctx.Done():
		case <-served:
		}
		_ = server.Close() // its listener may be closed already
	})
	err := server.Serve(socket.NewConnLimiter(held.listener, socket.MaxConnections, p.options.Logger))
	close(served)
	ending.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// handler forwards calls of users whom the kernel identifies, within the limits for one user.
func (p *Proxy) handler() http.Handler {
	whose := func(r *http.Request) (any, error) { return userOf(r.Context()) }
	return socket.NewLimits(p.forwarder, socket.OfUser(whose))
}

type userKey struct{}

// caller is the user at the other end of a connection; err is set if it is unknown.
type caller struct {
	uid  uint32
	err  error
	conn syscall.Conn
}

func withUser(ctx context.Context, c net.Conn) context.Context {
	who := caller{err: socket.ErrNoIdentity}
	if conn, ok := c.(syscall.Conn); ok {
		who.uid, who.err = socket.PeerUID(conn)
		who.conn = conn
	}
	return context.WithValue(socket.ConnContext(ctx, c), userKey{}, who)
}

func userOf(ctx context.Context) (uint32, error) {
	who, known := ctx.Value(userKey{}).(caller)
	if !known {
		return 0, socket.ErrNoIdentity
	}
	return who.uid, who.err
}

// limitsOf returns the resource limits of the calling process, which servers read
// in api.ForLimits; "": the call needs none.
func limitsOf(r *http.Request) (string, error) {
	who, _ := r.Context().Value(userKey{}).(caller)
	if !api.TakesLimits(r.URL.Path) || who.conn == nil {
		return "", nil
	}
	limits, err := socket.PeerLimits(who.conn)
	if err != nil {
		return "", connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return api.FormatLimits(limits), nil
}
