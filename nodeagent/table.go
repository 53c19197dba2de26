package nodeagent

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// table has the jobs of the node.
type table struct {
	mu sync.Mutex
	// jobs are those that the leader has not forgotten.
	jobs map[uint64]*job
	// leaving are forgotten ones whose last output may still be read. A job that
	// was put back into the queue can be in both.
	leaving map[*job]bool
	// changed is closed, and replaced, when a job comes.
	changed chan struct{}
	absent  absent
}

func newTable() *table {
	return &table{jobs: make(map[uint64]*job), leaving: make(map[*job]bool), changed: make(chan struct{})}
}

// add is false if there is such a job.
func (t *table) add(j *job) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs[j.id] != nil {
		return false
	}
	t.jobs[j.id] = j
	t.absent.came(j.id)
	close(t.changed)
	t.changed = make(chan struct{})
	return true
}

// get returns nil if there is no such job, or it is forgotten.
func (t *table) get(id uint64) *job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs[id]
}

// await waits for an attempt of a job to come, for its output. One that is
// forgotten and still leaving is found, too. It is nil when ctx ends.
func (t *table) await(ctx context.Context, id uint64, attempt uint32) *job {
	for {
		t.mu.Lock()
		changed := t.changed
		found := t.jobs[id]
		if found != nil && found.order.GetAttempt() != attempt {
			found = nil
		}
		if found == nil {
			for j := range t.leaving {
				if j.id == id && j.order.GetAttempt() == attempt {
					found = j
				}
			}
		}
		t.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// forget makes a job leave; it is nil if there is none.
func (t *table) forget(id uint64) *job {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.absent.left(id)
	j := t.jobs[id]
	if j == nil {
		return nil
	}
	delete(t.jobs, id)
	t.leaving[j] = true
	return j
}

// mayCome tells whether a job that is not here may be on its way.
func (t *table) mayCome(id uint64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.absent.mayCome(id, now)
}

// left takes a job out for good.
func (t *table) left(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leaving, j)
}

// all lists the jobs that are not forgotten, oldest first.
func (t *table) all() []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	jobs := make([]*job, 0, len(t.jobs))
	for _, j := range t.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.id, b.id) })
	return jobs
}

func (t *table) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.jobs)
}
