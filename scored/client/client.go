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

	socket    string
	transport *http.Transport
}

// New makes a client of the daemon that listens on the Unix socket. It
// connects at the first call.
func New(socket string) *Client {
	return newClient(socket, nil)
}

// newClient takes over first, a connection that is already there, if any.
func newClient(socket string, first net.Conn) *Client {
	dialer := &socketDialer{socket: socket, first: first}
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
		socket:    socket,
		transport: transport,
	}
}

// Socket is the path of the daemon's Unix socket.
func (c *Client) Socket() string { return c.socket }

// Another returns a client of the same daemon with connections of its own.
// Orders that must not wait behind a stalled stream of input go there.
func (c *Client) Another() *Client { return New(c.socket) }

// Close ends idle connections; calls under way are not disturbed.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// socketDialer dials the socket whatever the URL says.
type socketDialer struct {
	socket string

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
	return dialSocket(ctx, d.socket)
}

func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext(ctx, "unix", socket)
}
