package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// endingsPatience is how long a new job waits for processes to end that this node should no
	// longer run, counted from when they were ended: longer than the agent and a steward take to
	// end them by force, also on a busy machine. What has not ended then, as a process that waits
	// for a dead file system, may never end.
	endingsPatience = 10 * time.Second
	// ownEndingPatience is how long a job waits for what is left of itself, from before it was put
	// back into the queue: less than the leader gives it to become ready.
	ownEndingPatience = 20 * time.Second
	// endingsMost is how many jobs whose processes do not end new jobs go on beside. They may still
	// have memory and processors; a node with more of them is ill.
	endingsMost = 16
)

var errEndings = errors.New("processes of a job that the cluster has given up do not end here; look at the agent's log")

// endings are the jobs that are being ended here after the leader has forgotten them, or that no
// agent could take over. Until they are over, or have had their time, nothing new is accepted, and
// nobody is told that nothing is left of them.
type endings struct {
	mu   sync.Mutex
	jobs map[<-chan struct{}]ending // by what is closed when they are over
}

// ending is a job that is being ended.
type ending struct {
	id    uint64
	since time.Time
}

// add notes a job that is being ended.
func (e *endings) add(id uint64, over <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs == nil {
		e.jobs = make(map[<-chan struct{}]ending)
	}
	e.jobs[over] = ending{id, time.Now()}
}

// all lists those that are not over.
func (e *endings) all() map[<-chan struct{}]ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.jobs, func(over <-chan struct{}, _ ending) bool { return closed(over) })
	return maps.Clone(e.jobs)
}

// under lists what must be over before nothing is left of a job.
func (e *endings) under(id uint64) (overs []<-chan struct{}) {
	for over, of := range e.all() {
		if of.id == id {
			overs = append(overs, over)
		}
	}
	return overs
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await returns when a new job may begin: all jobs that are being ended now are over, or have had
// their time.
func (e *endings) await(ctx context.Context, id uint64) error {
	begin, late := time.Now(), 0
	for over, of := range e.all() {
		patience := endingsPatience - time.Since(of.since)
		if of.id == id {
			patience = ownEndingPatience - time.Since(begin)
		}
		switch isOver, err := within(ctx, over, patience); {
		case err != nil:
			return err
		case isOver:
		case of.id == id:
			return errEndings
		default:
			late++
		}
	}
	if late > endingsMost {
		return errEndings
	}
	return nil
}

// within waits until something is over, and reports whether that comes in time.
func within(ctx context.Context, over <-chan struct{}, patience time.Duration) (bool, error) {
	timer := time.NewTimer(max(patience, 0))
	defer timer.Stop()
	select {
	case <-over:
		return true, nil
	case <-timer.C:
		return closed(over), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// late lists the jobs whose processes should have ended.
func (e *endings) late() (jobs []uint64) {
	for _, of := range e.all() {
		if time.Since(of.since) > endingsPatience {
			jobs = append(jobs, of.id)
		}
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

// trouble tells of those jobs in a sentence; empty: there are none.
func (e *endings) trouble() string {
	jobs := e.late()
	if len(jobs) == 0 {
		return ""
	}
	const named = 4
	return fmt.Sprintf("processes of %d jobs that have ended cannot be killed (jobs %v); new jobs run beside them, up to %d of them: look at what the processes wait for, or restart the host",
		len(jobs), jobs[:min(len(jobs), named)], endingsMost)
}
