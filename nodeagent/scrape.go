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

// scrapeAgain is the time between two tries to have the port for the metrics.
const scrapeAgain = time.Second

func (a *Agent) scraped() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	return mux
}

// serveMetrics serves the metrics where the options say. A port that somebody has taken is waited
// for: jobs do not need it. When it fails for another reason, the agent stops.
func (a *Agent) serveMetrics(ctx context.Context, server *http.Server, cancel context.CancelCauseFunc) {
	if a.options.MetricsAddress == "" {
		return
	}
	for {
		listener, err := net.Listen("tcp", a.options.MetricsAddress)
		if err == nil {
			a.unserved.Store(nil)
			serveAt(server, listener, cancel)
			return
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			cancel(fmt.Errorf("the metrics cannot be served: %w; choose another address with metrics_listen", err))
			return
		}
		if a.unserved.Load() == nil {
			sentence := fmt.Sprintf("the metrics cannot be served: metrics_listen = %q is taken by another process", a.options.MetricsAddress)
			a.unserved.Store(&sentence)
			a.log.Warn("the metrics cannot be served before their address is free", zap.String("address", a.options.MetricsAddress), zap.Error(err))
		}
		wait.Sleep(ctx, scrapeAgain)
		if ctx.Err() != nil {
			return
		}
	}
}
