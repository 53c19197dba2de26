// Package h2 makes the HTTP/2 connections on which daemons speak with each other, encrypted and
// with a certificate at both ends, and those of users' sockets, which are not. There is one
// connection per address, which all calls and streams share.
package h2

import (
	"context"
	"net"
	"net/http"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"time"
)

const (
	// HeaderTimeout bounds how long a new connection may take to send its
	// request, so that silent ones do not pile up.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is how long a connection without calls is kept.
	IdleTimeout = 5 * time.Minute
	// ping is how long a connection may be silent before it is probed, and
	// pingTimeout how long the answer may take: a peer that vanished without closing
	// is noticed within the sum.
	ping        = 5 * time.Second
	pingTimeout = 5 * time.Second
	// streamBuffer is how many bytes of a stream may wait in a daemon for their reader: enough to
	// keep the sender busy, little enough that thousands of streams fit. It is a multiple of the
	// largest message, since flow control would divide every second message otherwise, and its rest
	// would wait for the reader.
	streamBuffer = 2 * api.MaxStreamMessage
	// socketStreamBuffer is the same for users' sockets, where a user may have thousands of
	// streams.
	socketStreamBuffer = api.MaxStreamMessage
	// clientStreamBuffer is the same in a client, which chooses its own calls.
	clientStreamBuffer = 4 * api.MaxStreamMessage
	// maxStreams bounds the calls under way on one connection; a client makes another one for more.
	maxStreams = 1024
	// maxSocketStreams is the same for a connection with a user's program. The program need not
	// read what the server writes, and the server keeps 7 KiB of each call until it does. A user
	// may have 2,048 connections; an attached scrun has few calls on each. A client assumes that
	// 100 are allowed until it knows (RFC 9113, section 6.5.2), and repeats the calls that were
	// refused, after a second or more.
	maxSocketStreams = 16
	// maxSocketHeader bounds the header of a call at a users' socket, which is kept during the
	// call. That of a client has some hundred bytes. net/http adds up to 4 KiB.
	maxSocketHeader = 4 << 10
	// ownAnswerTimeout is how long a user's program may take to take an answer that net/http gives
	// by itself, as to a header that is too long. It is long for a busy host: a call must have
	// reached its handler by then.
	ownAnswerTimeout = 5 * time.Second
)

// config sets a connection's window for all of its streams together. So a stream that nobody reads,
// such as input for a rank that takes none, blocks no other (RFC 9113, section 5.2.2).
func config(streamBuffer int) *http.HTTP2Config {
	return &http.HTTP2Config{
		SendPingTimeout: ping, PingTimeout: pingTimeout, MaxConcurrentStreams: maxStreams, MaxReadFrameSize: api.MaxStreamMessage,
		MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: maxStreams * streamBuffer,
	}
}

// NewTransport returns a transport to daemons of the roles with certificates of the credentials'
// cluster; without credentials it does not encrypt, for users' sockets.
func NewTransport(credentials *pki.Credentials, roles ...pki.Role) *http.Transport {
	t := &http.Transport{
		Protocols:          new(http.Protocols),
		HTTP2:              config(clientStreamBuffer),
		IdleConnTimeout:    IdleTimeout,
		DisableCompression: true,
	}
	if credentials == nil {
		t.Protocols.SetUnencryptedHTTP2(true)
		return t
	}
	t.Protocols.SetHTTP2(true)
	t.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return credentials.Dial(ctx, address, Protocol, roles...)
	}
	return t
}

// Dialer makes a connection with an address, host:port.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

// NewClientWithDialer returns a client like NewClient that connects with dial.
func NewClientWithDialer(dial Dialer, credentials *pki.Credentials, roles ...pki.Role) *http.Client {
	t := NewTransport(credentials, roles...)
	t.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		raw, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return credentials.Handshake(ctx, raw, Protocol, roles...)
	}
	return &http.Client{Transport: api.WholeMessages(t)}
}

// NewClient returns a client with a transport of its own, which writes each message of a stream at
// once.
func NewClient(credentials *pki.Credentials, roles ...pki.Role) *http.Client {
	return &http.Client{Transport: api.WholeMessages(NewTransport(credentials, roles...))}
}

// NewServer returns a server of HTTP/1 (for curl) and HTTP/2 without encryption,
// and of HTTP/2 on connections that are encrypted already.
func NewServer(handler http.Handler) *http.Server { return newServer(handler, streamBuffer) }

func newServer(handler http.Handler, streamBuffer int) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		HTTP2:             config(streamBuffer),
		ReadHeaderTimeout: HeaderTimeout,
		IdleTimeout:       IdleTimeout,
	}
}

// NewSocketServer is like NewServer, for a Unix socket. It does not probe connections: the kernel
// closes those of a process that has ended, and one that its user has stopped (^Z) cannot answer. A
// job ends some time after its scrun's connection, and must not end because its user has stopped
// scrun.
func NewSocketServer(handler http.Handler) *http.Server {
	untimed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // all connections of package net have them
		handler.ServeHTTP(w, r)
	})
	server := newServer(untimed, socketStreamBuffer)
	server.HTTP2.SendPingTimeout = 0
	server.HTTP2.MaxConcurrentStreams = maxSocketStreams
	server.MaxHeaderBytes, server.WriteTimeout = maxSocketHeader, ownAnswerTimeout
	server.DisableGeneralOptionsHandler = true // it would wait for a body that never comes
	return server
}
