package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"score/nodeagent/wait"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// metricsRetry is the time between two tries to listen for the metrics.
const metricsRetry = time.Second

func (a *Agent) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	return mux
}

// serveMetrics serves the metrics at Options.MetricsAddress. While the port is taken it tries
// again, since jobs do not need the metrics. If it fails for another reason, the agent stops.
func (a *Agent) serveMetrics(ctx context.Context, server *http.Server, cancel context.CancelCauseFunc) {
	if a.options.MetricsAddress == "" {
		return
	}
	for {
		listener, err := net.Listen("tcp", a.options.MetricsAddress)
		if err == nil {
			a.metricsProblem.Store(nil)
			serveAt(server, listener, cancel)
			return
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			cancel(fmt.Errorf("the metrics cannot be served: %w; choose another address with metrics_listen", err))
			return
		}
		if a.metricsProblem.Load() == nil {
			sentence := fmt.Sprintf("the metrics cannot be served: metrics_listen = %q is taken by another process", a.options.MetricsAddress)
			a.metricsProblem.Store(&sentence)
			a.log.Warn("the metrics cannot be served before their address is free", zap.String("address", a.options.MetricsAddress), zap.Error(err))
		}
		wait.Sleep(ctx, metricsRetry)
		if ctx.Err() != nil {
			return
		}
	}
}
