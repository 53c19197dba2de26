package client

import (
	"net"
	"net/http"
	"score/scored/api"
	"score/scored/api/scorev1/scorev1connect"
	"time"

	"connectrpc.com/connect"
)

const (
	// dialTimeout bounds the connection to a Unix socket. The kernel answers
	// at once unless the daemon's queue of connections is full.
	dialTimeout = 5 * time.Second

	// streamBuffer is how much of a job's output may wait in this process. It
	// is small, so that a user who stops reading stops the ranks, and large
	// enough that a full pipe does not wait for the daemon.
	streamBuffer = 4 * api.MaxStreamMessage

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
	dialer := newSocketDialer(sockets, first)
	reach := http.RoundTripper(c.transport(dialer))
	if len(sockets) > 1 {
		reach = &byServer{any: reach, dialer: dialer, server: c.transport(newSocketDialer(sockets[:1], nil))}
	}
	repeat := connect.WithInterceptors(connect.UnaryInterceptorFunc(again))
	plain := &http.Client{Transport: api.SendProtocols(api.WholeMessages(reach), api.Version())}
	c.Jobs = newJobs(plain, repeat)
	c.Cluster = newCluster(plain, repeat)
	return c
}

func (c *Client) transport(dialer *socketDialer) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:   protocols,
		DialContext: dialer.dial,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamBuffer, MaxReadFrameSize: api.MaxStreamMessage,
		},
		DisableCompression: true,
	}
	c.transports = append(c.transports, transport)
	return transport
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
