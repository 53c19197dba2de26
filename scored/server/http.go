package server

import (
	"net/http"

	"go.uber.org/zap"

	"score/scored/api/h2"
	"score/scored/api/pki"
)

const (
	// streamBuffer is how much of a stream may wait in this process: enough to
	// keep the sender busy, little enough that thousands of streams fit.
	streamBuffer = 256 << 10
	// maxStreams bounds the calls under way on one connection.
	maxStreams = 1024
)

func newHTTPServer(handler http.Handler, logger *zap.Logger) *http.Server {
	server := h2.NewServer(handler)
	server.HTTP2.MaxConcurrentStreams = maxStreams
	server.HTTP2.MaxReceiveBufferPerStream = streamBuffer
	server.ErrorLog, _ = zap.NewStdLogAt(logger, zap.DebugLevel) // the level exists
	return server
}

// newTransport reaches agents.
func newTransport(credentials *pki.Credentials) *http.Transport {
	transport := h2.NewTransport(credentials, pki.Agent)
	transport.HTTP2.MaxReceiveBufferPerStream = streamBuffer
	return transport
}
