package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// endpoint is one address and its server.
type endpoint struct {
	listener net.Listener
	server   *http.Server
	calls    *calls
	drain    time.Duration
}

// newEndpoint makes one whose server is made by newServer.
func newEndpoint(newServer func(http.Handler) *http.Server, handler http.Handler, logger *zap.Logger) endpoint {
	c := &calls{handler: handler}
	server := newServer(c)
	server.ErrorLog, _ = zap.NewStdLogAt(logger, zap.DebugLevel) // the level exists
	return endpoint{server: server, calls: c, drain: drainTime}
}

// serve serves until the endpoint is stopped.
func (e *endpoint) serve() error {
	if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serving %s: %w", e.listener.Addr(), err)
	}
	return nil
}

// stop waits for open calls, and then closes all connections.
func (e *endpoint) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), e.drain)
	defer cancel()
	err := unlessClosed(e.listener.Close())
	e.calls.drain(ctx)
	return errors.Join(err, unlessClosed(e.server.Close()))
}

// unlessClosed returns nil for errors about something that is closed already: several paths close
// the listeners.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
