// Package jobtable holds the jobs of a node, and knows which may still come.
package jobtable

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Job is a pointer to a job's part on this node.
type Job interface {
	comparable
	ID() uint64
	// Attempt returns the number of the job's attempt.
	Attempt() uint32
}

// Table holds the jobs of the node.
type Table[J Job] struct {
	mu sync.Mutex
	// jobs holds the jobs that the leader has not forgotten.
	jobs map[uint64]J
	// leaving holds forgotten jobs whose last output may still be read. A job that was put back
	// into the queue can be in both.
	leaving map[J]bool
	// changed is closed, and replaced, when a job comes.
	changed chan struct{}
	absent  absent
}

// New returns an empty table.
func New[J Job]() *Table[J] {
	return &Table[J]{jobs: make(map[uint64]J), leaving: make(map[J]bool), changed: make(chan struct{})}
}

// Add adds a job. It returns false if its number is in use.
func (t *Table[J]) Add(j J) bool {
	var none J
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs[j.ID()] != none {
		return false
	}
	t.jobs[j.ID()] = j
	t.absent.came(j.ID())
	close(t.changed)
	t.changed = make(chan struct{})
	return true
}

// Get returns a job, nil if there is none with the number or it is forgotten.
func (t *Table[J]) Get(id uint64) J {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs[id]
}

// Await waits until an attempt of a job is here, and returns its part. It also finds a forgotten
// job that is still leaving, whose output may be read. It returns nil when ctx ends.
func (t *Table[J]) Await(ctx context.Context, id uint64, attempt uint32) J {
	var none J
	for {
		found, changed := t.attempt(id, attempt)
		if found != none {
			return found
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return none
		}
	}
}

// attempt returns an attempt of a job, nil if it is not here; changed is closed when a job comes.
func (t *Table[J]) attempt(id uint64, attempt uint32) (found J, changed <-chan struct{}) {
	var none J
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.jobs[id]; j != none && j.Attempt() == attempt {
		return j, t.changed
	}
	for j := range t.leaving {
		if j.ID() == id && j.Attempt() == attempt {
			return j, t.changed
		}
	}
	return none, t.changed
}

// Forget moves a job to the leaving ones and returns it, nil if there is none.
func (t *Table[J]) Forget(id uint64) J {
	var none J
	t.mu.Lock()
	defer t.mu.Unlock()
	t.absent.left(id)
	j := t.jobs[id]
	if j == none {
		return none
	}
	delete(t.jobs, id)
	t.leaving[j] = true
	return j
}

// MayCome reports whether a job that is not here may be on its way.
func (t *Table[J]) MayCome(id uint64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.absent.mayCome(id, now)
}

// Remove removes a job that was leaving.
func (t *Table[J]) Remove(j J) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leaving, j)
}

// All lists the jobs that are not forgotten, oldest first.
func (t *Table[J]) All() []J {
	t.mu.Lock()
	defer t.mu.Unlock()
	jobs := make([]J, 0, len(t.jobs))
	for _, j := range t.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b J) int { return cmp.Compare(a.ID(), b.ID()) })
	return jobs
}

// Count counts the jobs that are not forgotten.
func (t *Table[J]) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.jobs)
}
