package server

import (
	"net/http"
	"score/scored/api/transport/h2"

	"go.uber.org/zap"
)

func newHTTPServer(handler http.Handler, logger *zap.Logger) *http.Server {
	server := h2.NewServer(handler)
	server.ErrorLog, _ = zap.NewStdLogAt(logger, zap.DebugLevel) // the level exists
	return server
}
