package filetransfer

import (
	"context"
	"sync"
)

// early holds the jobs whose files are fetched while they wait.
type early struct {
	mu   sync.Mutex
	ends map[uint64]context.CancelFunc
}

// begin returns the context in which a job's files are fetched. It ends the context of an earlier
// call.
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
