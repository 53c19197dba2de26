package client

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"score/scored/api"
	"score/scored/api/scorev1/scorev1connect"
)

const (
	// dialTimeout bounds the connection to a Unix socket. The kernel answers
	// at once unless the daemon's queue of connections is full.
	dialTimeout = 5 * time.Second

	// streamBuffer is how much of a job's output may wait in this process. It
	// is small, because a user who stops reading shall stop the ranks, and
	// large enough that a full pipe does not wait for the daemon.
	streamBuffer = 256 << 10

	// baseURL is never resolved: every connection goes to the Unix socket.
	baseURL = "http://scored"
)

// Client speaks with one daemon. It is safe for concurrent use.
type Client struct {
	Jobs    scorev1connect.JobServiceClient
	Cluster scorev1connect.ClusterServiceClient

	sockets   []string
	transport *http.Transport
}

// New makes a client of the daemon that listens on the Unix socket, or of the
// agent beside it while there is none. It connects at the first call.
func New(socket string) *Client {
	return newClient(candidates(socket), nil)
}

// newClient takes over first, a connection that is already there, if any.
func newClient(sockets []string, first net.Conn) *Client {
	dialer := &socketDialer{sockets: sockets, first: first}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:   protocols,
		DialContext: dialer.dial,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamBuffer,
		},
		DisableCompression: true,
	}
	repeat := connect.WithInterceptors(connect.UnaryInterceptorFunc(again))
	plain := &http.Client{Transport: api.TellProtocols(api.WholeMessages(transport), api.Version())}
	return &Client{
		Jobs:      scorev1connect.NewJobServiceClient(plain, baseURL, repeat),
		Cluster:   scorev1connect.NewClusterServiceClient(plain, baseURL, repeat),
		sockets:   sockets,
		transport: transport,
	}
}

// Socket is the path of the Unix socket that was named, or found.
func (c *Client) Socket() string { return c.sockets[0] }

// Another returns a client of the same daemon with connections of its own.
// Orders that must not wait behind a stalled stream of input go there.
func (c *Client) Another() *Client { return newClient(c.sockets, nil) }

// Close ends idle connections; calls under way are not disturbed.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

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

// dialFirst connects to the first of the sockets at which somebody listens. The error is that of the very first.
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
