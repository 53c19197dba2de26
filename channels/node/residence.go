package node

import (
	"score/channels/residence"
	"sync/atomic"
)

// Step is an order to a job's contexts when its gang leaves the node or comes back.
type Step = residence.Step

// The steps; see package residence.
const (
	StepRevoke = residence.Revoke
	StepFlush  = residence.Flush
	StepSave   = residence.Save
	StepLoad   = residence.Load
)

// Outcome is the result of a step.
type Outcome = residence.Outcome

const (
	// stepBits hold a Step in the word of an order.
	stepBits = 3
	stepMask = 1<<stepBits - 1
	// maxInlineContexts is the largest number of a job's contexts that the caller of Order takes
	// through a step itself. More would keep it from its other jobs, since each takes some
	// microseconds.
	maxInlineContexts = 8
)

// order is the newest order to a job. The caller of Order writes it; the holder of loop.work reads
// it.
type order struct {
	by     atomic.Int64  // stored before word
	word   atomic.Uint64 // number<<stepBits | step
	queued atomic.Bool   // the job is in loop.ordered
	next   *Job          // in loop.ordered
	taken  uint64        // the word that was begun last; only the holder of loop.work uses it
}

func (o *order) set(step Step, number uint64, by int64) {
	o.by.Store(by)
	o.word.Store(number<<stepBits | uint64(step))
}

// Order orders a step, which is carried out for all contexts of the job in parallel. If it is over
// at once, Order returns its outcome; else JobConfig.Done reports it. Revoking and flushing end at
// the instant by, of channels.Nanos, at the latest. Only the newest order counts: one that had not
// begun is never reported. Order neither waits nor allocates, and is for one goroutine at a time.
// On a closed node every step is over at once.
func (j *Job) Order(step Step, number uint64, by int64) (out Outcome, over bool) {
	j.order.set(step, number, by)
	l := j.node.loop
	if step != StepRevoke { // processes take longer to answer it than waking the loop takes
		if out, over, ok := l.orderInline(j); ok {
			return out, over
		}
	}
	closed := !l.queueOrder(j)
	return Outcome{}, closed
}

// orderInline carries the job's newest order out within the caller's goroutine: waking the loop,
// and being woken by it, takes longer than most orders. ok is false if the loop is busy or the job
// large.
func (l *loop) orderInline(j *Job) (out Outcome, over, ok bool) {
	if !l.tryAcquire() {
		return Outcome{}, false, false
	}
	defer l.releaseWork()
	if j.residence.Contexts() > maxInlineContexts {
		return Outcome{}, false, false
	}
	l.startNewestOrder(j)
	out, over = l.outcome(j)
	return out, over, true
}

// tryAcquire makes the caller the holder of work if the loop sleeps. It never waits.
func (l *loop) tryAcquire() bool {
	if !l.work.TryLock() {
		return false
	}
	if l.stopping {
		l.work.Unlock()
		return false
	}
	l.inline = true
	return true
}

// releaseWork ends tryAcquire. It wakes the loop only for what is due at once; for the rest there
// is the timer.
func (l *loop) releaseWork() {
	l.inline = false
	if l.armTimer() == 0 || len(l.ends) > 0 {
		l.wakeUp()
	}
	l.work.Unlock()
}

// noOrders in loop.ordered marks that the loop has ended.
var noOrders = new(Job)

// queueOrder makes the loop read the job's order. It reports false if the loop has ended.
func (l *loop) queueOrder(j *Job) bool {
	if j.order.queued.Swap(true) {
		return true
	}
	for {
		top := l.ordered.Load()
		if top == noOrders {
			j.order.queued.Store(false)
			return false
		}
		j.order.next = top
		if l.ordered.CompareAndSwap(top, j) {
			if top == nil {
				l.wakeUp()
			}
			return true
		}
	}
}

// startOrders begins the steps that were ordered.
func (l *loop) startOrders() {
	if l.ordered.Load() == nil {
		return
	}
	for j := l.ordered.Swap(nil); j != nil; {
		next := j.order.next
		j.order.next = nil
		j.order.queued.Store(false) // a newer order from now on comes by itself
		if l.startNewestOrder(j) {
			l.progress(j)
		}
		l.resume(j)
		j = next
	}
}

// startNewestOrder begins the job's newest order, unless that was begun before.
func (l *loop) startNewestOrder(j *Job) bool {
	word := j.order.word.Load()
	if word == j.order.taken {
		return false
	}
	j.order.taken = word
	l.startOrder(j, Step(word&stepMask), word>>stepBits, j.order.by.Load())
	return true
}
