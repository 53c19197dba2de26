package filetransfer

import (
	"context"
	"sync"
)

// early are the jobs whose files are fetched while they wait.
type early struct {
	mu   sync.Mutex
	ends map[uint64]context.CancelFunc
}

// begin returns the context of a job's fetching, instead of one that was begun before.
func (e *early) begin(parent context.Context, job uint64) context.Context {
	ctx, cancel := context.WithCancel(parent)
	e.mu.Lock()
	defer e.mu.Unlock()
	if before := e.ends[job]; before != nil {
		before()
	}
	if e.ends == nil {
		e.ends = make(map[uint64]context.CancelFunc)
	}
	e.ends[job] = cancel
	return ctx
}

func (e *early) endAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cancel := range e.ends {
		cancel()
	}
	clear(e.ends)
}

func (e *early) end(job uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if cancel := e.ends[job]; cancel != nil {
		cancel()
		delete(e.ends, job)
	}
}
