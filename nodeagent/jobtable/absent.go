package jobtable

import (
	"maps"
	"time"
)

const (
	// comingFor is how long a job that was never here but gets messages may still be on its way:
	// other jobs know a spawned job when it is placed, and its nodes get the order within
	// milliseconds, or when they are connected again.
	comingFor = 10 * time.Second
	// maxComing bounds the jobs that may come, and maxGone the jobs that are known to be over:
	// there are few connected jobs.
	maxComing = 256
	maxGone   = 1024
)

// absent distinguishes jobs that were here from those that may come.
type absent struct {
	coming map[uint64]time.Time // when a message first asked for the job
	gone   map[uint64]bool
	order  []uint64 // of gone, the oldest first
}

// mayCome reports whether a job that is not here may be on its way.
func (a *absent) mayCome(id uint64, now time.Time) bool {
	if a.gone[id] {
		return false
	}
	since, asked := a.coming[id]
	switch {
	case asked && now.Sub(since) < comingFor:
		return true
	case asked:
		delete(a.coming, id)
		a.left(id)
		return false
	}
	maps.DeleteFunc(a.coming, func(_ uint64, since time.Time) bool { return now.Sub(since) >= comingFor })
	if len(a.coming) == maxComing {
		return false
	}
	if a.coming == nil {
		a.coming = make(map[uint64]time.Time)
	}
	a.coming[id] = now
	return true
}

// came records that a job is here.
func (a *absent) came(id uint64) {
	delete(a.coming, id)
	delete(a.gone, id) // it was put back into the queue
}

// left records that a job is over here.
func (a *absent) left(id uint64) {
	if a.gone == nil {
		a.gone = make(map[uint64]bool)
	}
	if len(a.order) == maxGone {
		delete(a.gone, a.order[0])
		a.order = a.order[1:]
	}
	a.gone[id] = true
	a.order = append(a.order, id)
}
