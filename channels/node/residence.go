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
)

// maxOwnContexts is the largest number of a job's contexts that the caller of Order takes through a
// step itself. More would keep it from its other jobs, since each takes some microseconds.
const maxOwnContexts = 8

// order is the newest order to a job. The caller of Order writes it, the loop reads it.
type order struct {
	by     atomic.Int64
	word   atomic.Uint64 // number and step
	queued atomic.Bool   // the loop has it in its stack
	next   *Job          // in the stack
	taken  uint64        // the loop's: the word that was taken last
}

// Order orders a step, which is carried out for all contexts of the job in parallel. If it is over
// at once, Order returns its outcome; else JobConfig.Done reports it. Revoking and flushing end at
// the instant by, of channels.Nanos, at the latest. Only the newest order counts: one that had not
// begun is never reported. Order neither waits nor allocates, and is for one goroutine at a time.
// On a closed node every step is over at once.
func (j *Job) Order(step Step, number uint64, by int64) (out Outcome, over bool) {
	j.order.by.Store(by)
	j.order.word.Store(number<<stepBits | uint64(step))
	l := j.node.loop
	if step == StepRevoke || !l.borrow() { // processes take longer than waking the loop
		return out, !l.request(j)
	}
	defer l.giveBack()
	if j.residence.Contexts() > maxOwnContexts {
		return out, !l.request(j)
	}
	l.startNewest(j)
	return l.outcome(j)
}

// borrow lets the caller do the loop's work while the loop sleeps: waking it, and being woken by
// it, takes longer than most orders. It never waits.
func (l *loop) borrow() bool {
	if !l.work.TryLock() {
		return false
	}
	if l.stopping {
		l.work.Unlock()
		return false
	}
	l.borrowed = true
	return true
}

// giveBack ends borrow. It wakes the loop only for what is due at once; for the rest there is the
// timer.
func (l *loop) giveBack() {
	l.borrowed = false
	if l.patience() == 0 || len(l.ends) > 0 {
		l.interrupt()
	}
	l.work.Unlock()
}

// noOrders in loop.ordered means that the loop has ended.
var noOrders = new(Job)

// request makes the loop read the job's order.
func (l *loop) request(j *Job) bool {
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
				l.interrupt()
			}
			return true
		}
	}
}

// takeOrders begins the steps that were ordered.
func (l *loop) takeOrders() {
	if l.ordered.Load() == nil {
		return
	}
	for j := l.ordered.Swap(nil); j != nil; {
		next := j.order.next
		j.order.next = nil
		j.order.queued.Store(false) // a newer order from now on comes by itself
		if l.startNewest(j) {
			l.progress(j)
		}
		l.resume(j)
		j = next
	}
}

// startNewest begins the job's newest order, unless that was begun before.
func (l *loop) startNewest(j *Job) bool {
	word := j.order.word.Load()
	if word == j.order.taken {
		return false
	}
	j.order.taken = word
	l.startOrder(j, Step(word&stepMask), word>>stepBits, j.order.by.Load())
	return true
}
