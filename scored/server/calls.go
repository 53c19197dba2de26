package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// drainTime is how long open calls may take when the server stops. The leader has ended their
	// streams by then.
	drainTime = 200 * time.Millisecond
	// drainPoll is how often drain checks for them.
	drainPoll = time.Millisecond
)

// calls counts the open calls, so that stopping waits for them only: http.Server.Shutdown also
// waits for idle connections.
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

// drain waits until no call is open, or until ctx ends.
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
