package client

import (
	"context"
	"net"
	"net/http"
	"os"
	"score/scored/api"
	"score/scored/api/identity/access"
	"score/scored/api/scorev1/scorev1connect"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	// dialTimeout bounds the connection to a Unix socket. The kernel answers
	// at once unless the daemon's queue of connections is full.
	dialTimeout = 5 * time.Second

	// streamBuffer is how much of a job's output may wait in this process. It
	// is small, because a user who stops reading shall stop the ranks, and
	// large enough that a full pipe does not wait for the daemon.
	streamBuffer = 256 << 10
	// frameMost has room for the largest message of output and its head in one frame.
	frameMost = 68 << 10

	// baseURL is never resolved: every connection goes to the Unix socket.
	baseURL = "http://scored"
)

// Client speaks with one daemon. It is safe for concurrent use.
type Client struct {
	Jobs    scorev1connect.JobServiceClient
	Cluster scorev1connect.ClusterServiceClient

	sockets    []string
	transports []*http.Transport
}

// New makes a client of the daemon that listens on the Unix socket, or of the
// agent beside it while there is none. It connects at the first call.
func New(socket string) *Client {
	return newClient(candidates(socket), nil)
}

// newClient takes over first, a connection that is already there, if any.
func newClient(sockets []string, first net.Conn) *Client {
	c := &Client{sockets: sockets}
	reach := http.RoundTripper(c.transport(sockets, first))
	if len(sockets) > 1 {
		reach = &byServer{any: reach, server: c.transport(sockets[:1], nil), socket: sockets[0]}
	}
	repeat := connect.WithInterceptors(connect.UnaryInterceptorFunc(again))
	plain := &http.Client{Transport: api.SendProtocols(api.WholeMessages(reach), api.Version())}
	c.Jobs = newJobs(plain, repeat)
	c.Cluster = newCluster(plain, repeat)
	return c
}

func (c *Client) transport(sockets []string, first net.Conn) *http.Transport {
	dialer := &socketDialer{sockets: sockets, first: first}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:   protocols,
		DialContext: dialer.dial,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamBuffer, MaxReadFrameSize: frameMost,
		},
		DisableCompression: true,
	}
	c.transports = append(c.transports, transport)
	return transport
}

// byServer keeps to the host's server, also while that is being restarted, what is refused by
// way of an agent: calls that take a role, and root's submissions. Their user is to hear that the
// server is away, or to wait for it, and not that he may not. Where no server is, the agent says
// where to go.
type byServer struct {
	any, server http.RoundTripper
	socket      string // the server's
}

// RoundTrip implements http.RoundTripper.
func (b *byServer) RoundTrip(r *http.Request) (*http.Response, error) {
	bound := r.URL.Path == api.KeyedSubmit && os.Getuid() == 0
	if !bound && access.ByAgent(r.URL.Path) == nil {
		return b.any.RoundTrip(r)
	}
	if _, err := os.Stat(b.socket); err != nil {
		return b.any.RoundTrip(r)
	}
	return b.server.RoundTrip(r)
}

// Socket returns the path of the Unix socket that was named, or found.
func (c *Client) Socket() string { return c.sockets[0] }

// Clone returns a client of the same daemon with connections of its own.
// Orders that must not wait behind a stalled stream of input go there.
func (c *Client) Clone() *Client { return newClient(c.sockets, nil) }

// Close ends idle connections; calls under way are not disturbed.
func (c *Client) Close() {
	for _, transport := range c.transports {
		transport.CloseIdleConnections()
	}
}

// socketDialer dials the sockets whatever the URL says.
type socketDialer struct {
	sockets []string

	mu    sync.Mutex
	first net.Conn // handed out once
}

func (d *socketDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	d.mu.Lock()
	first := d.first
	d.first = nil
	d.mu.Unlock()
	if first != nil {
		return first, nil
	}
	return dialFirst(ctx, d.sockets)
}

// dialFirst connects to the first of the sockets at which somebody listens. The error is that of
// the very first.
func dialFirst(ctx context.Context, sockets []string) (conn net.Conn, err error) {
	for i, socket := range sockets {
		conn, dialErr := dialSocket(ctx, socket)
		if dialErr == nil {
			return conn, nil
		}
		if i == 0 {
			err = dialErr
		}
		if !isGone(dialErr) {
			break
		}
	}
	return nil, err
}

func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext(ctx, "unix", socket)
}
