package server

import (
	"net/http"

	"go.uber.org/zap"

	"score/scored/api/transport/h2"
)

func newHTTPServer(handler http.Handler, logger *zap.Logger) *http.Server {
	server := h2.NewServer(handler)
	server.ErrorLog, _ = zap.NewStdLogAt(logger, zap.DebugLevel) // the level exists
	return server
}
