package nodeagent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// endingsPatience is how long a new job waits for processes to end that this node
// should no longer run: less than the leader gives it to become ready.
const endingsPatience = 20 * time.Second

var errEndings = errors.New("processes of a job that the cluster has given up do not end here; look at the agent's log")

// endings are the jobs that are being ended here after the leader has forgotten
// them, or that no agent could take over. Until they are over, nothing new is
// accepted, and nobody is told that nothing is left of them.
type endings struct {
	mu   sync.Mutex
	jobs map[<-chan struct{}]uint64 // by what is closed when they are over
}

// add notes a job that is being ended.
func (e *endings) add(id uint64, over <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs == nil {
		e.jobs = make(map[<-chan struct{}]uint64)
	}
	e.jobs[over] = id
}

// under lists what must be over before nothing is left of a job; 0: of any.
func (e *endings) under(id uint64) (overs []<-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.jobs, func(over <-chan struct{}, _ uint64) bool { return closed(over) })
	for over, of := range e.jobs {
		if id == 0 || of == id {
			overs = append(overs, over)
		}
	}
	return slices.Clip(overs)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await returns when all jobs that are being ended now are over.
func (e *endings) await(ctx context.Context) error {
	overs := e.under(0)
	if len(overs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, endingsPatience, errEndings)
	defer cancel()
	for _, over := range overs {
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
