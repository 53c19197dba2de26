package server

import (
	"crypto/tls"
	"net/http"
	"time"

	"go.uber.org/zap"

	"score/scored/api/pki"
)

const (
	// headerTimeout bounds how long a new connection may take to say what it
	// wants, so that silent ones do not pile up.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a connection without calls is kept.
	idleTimeout = 5 * time.Minute
	// streamPing is how long a connection may be silent before it is probed, and
	// streamPingTimeout how long the answer may take: a peer that vanished
	// without closing is noticed within the sum.
	streamPing        = 5 * time.Second
	streamPingTimeout = 5 * time.Second
	// streamBuffer is how much of a stream may wait in this process: enough to
	// keep the sender busy, little enough that thousands of streams fit.
	streamBuffer = 256 << 10
	// maxStreams bounds the calls under way on one connection.
	maxStreams = 1024
)

// protocolHTTP2 is its name in the TLS handshake (RFC 9113, section 3.2).
const protocolHTTP2 = "h2"

func clientTLS(credentials *pki.Credentials) *tls.Config {
	if credentials == nil {
		return nil
	}
	return credentials.Client(pki.Agent)
}

func http2Config() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams:      maxStreams,
		MaxReceiveBufferPerStream: streamBuffer,
		SendPingTimeout:           streamPing,
		PingTimeout:               streamPingTimeout,
	}
}

// newHTTPServer speaks HTTP/1 (for curl) and HTTP/2 without encryption, which
// is for this host only, and HTTP/2 on connections that are encrypted already.
func newHTTPServer(handler http.Handler, logger *zap.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	log, _ := zap.NewStdLogAt(logger, zap.DebugLevel) // the level exists
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		HTTP2:             http2Config(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log,
	}
}

// newTransport speaks HTTP/2 with agents that show a certificate, or without credentials without
// encryption, and keeps one connection per address.
func newTransport(credentials *pki.Credentials) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(credentials == nil)
	protocols.SetHTTP2(credentials != nil)
	return &http.Transport{
		TLSClientConfig:    clientTLS(credentials),
		Protocols:          protocols,
		HTTP2:              http2Config(),
		IdleConnTimeout:    idleTimeout,
		DisableCompression: true,
	}
}
