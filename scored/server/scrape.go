package server

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// metricsRetryInterval is the time between two attempts to listen on the metrics port.
const metricsRetryInterval = time.Second

// listenMetrics listens on the metrics port. If the port is in use, it leaves that to
// serveMetricsLater: the cluster works without metrics.
func (s *Server) listenMetrics() error {
	address := s.options.MetricsAddress
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		s.logger.Warn("the metrics cannot be served: another process has taken metrics_listen; it is tried again each second",
			zap.String("address", address))
		return nil
	}
	if err != nil {
		return listenError("metrics_listen", address, err)
	}
	s.endpoints[metricsEndpoint].listener, s.scraped = listener, listener.Addr()
	return nil
}

// serveMetricsLater serves the metrics once their port is free, until leaderStopped is closed.
func (s *Server) serveMetricsLater(ctx context.Context, leaderStopped <-chan struct{}) error {
	listener := s.awaitMetricsPort(ctx)
	if listener == nil {
		return nil
	}
	s.logger.Info("the metrics are served now", zap.Stringer("address", listener.Addr()))
	e := &s.endpoints[metricsEndpoint]
	e.listener = listener
	stopped := make(chan error, 1)
	go func() {
		<-leaderStopped
		stopped <- e.stop()
	}()
	return errors.Join(e.serve(), <-stopped)
}

// awaitMetricsPort returns nil if ctx ends first.
func (s *Server) awaitMetricsPort(ctx context.Context) net.Listener {
	again := time.NewTicker(metricsRetryInterval)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
		if listener, err := net.Listen("tcp", s.options.MetricsAddress); err == nil {
			return listener
		}
	}
}
