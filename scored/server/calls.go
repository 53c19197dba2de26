package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// drainTime is how long calls under way may take when the server stops. The
	// leader has ended their streams by then.
	drainTime = 200 * time.Millisecond
	// drainPoll is how often they are looked at meanwhile.
	drainPoll = time.Millisecond
)

// calls counts the calls under way, so that stopping waits for them and for
// nothing else: http.Server.Shutdown also waits for connections that say
// nothing.
type calls struct {
	handler http.Handler
	active  atomic.Int64
}

// ServeHTTP implements http.Handler.
func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.active.Add(1)
	defer c.active.Add(-1)
	c.handler.ServeHTTP(w, r)
}

// drain waits until no call is under way, at most until ctx ends.
func (c *calls) drain(ctx context.Context) {
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for c.active.Load() > 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
