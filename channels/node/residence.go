package node

import (
	"score/channels/residence"
	"sync/atomic"
)

// Step is what can be ordered of a job's contexts when its gang leaves the node or comes back.
type Step = residence.Step

// The steps; see package residence.
const (
	StepRevoke = residence.Revoke
	StepFlush  = residence.Flush
	StepSave   = residence.Save
	StepLoad   = residence.Load
)

// Outcome says how a step went.
type Outcome = residence.Outcome

const (
	// stepBits hold a Step in the word of an order.
	stepBits = 3
	stepMask = 1<<stepBits - 1
)

// order is the newest one to a job. It is written by whoever orders and read by the loop.
type order struct {
	by     atomic.Int64
	word   atomic.Uint64 // number and step
	queued atomic.Bool   // the loop has it in its stack
	next   *Job          // in the stack
	taken  uint64        // the word that the loop took last
}

// Order orders a step, which is carried out for all contexts of the job in parallel and reported by
// JobConfig.Done; revoking and flushing are given up at the instant by, of channels.Nanos. Only the
// newest order counts: one that had not begun is never reported. It neither waits nor allocates nor
// takes a lock, and is for one goroutine at a time. It is false if the node was closed.
func (j *Job) Order(step Step, number uint64, by int64) bool {
	j.order.by.Store(by)
	j.order.word.Store(number<<stepBits | uint64(step))
	return j.node.loop.request(j)
}

// noOrders in loop.ordered says that the loop has ended.
var noOrders = new(Job)

// request has the loop look at the job's order.
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

// takeOrders begins with what was ordered.
func (l *loop) takeOrders() {
	if l.ordered.Load() == nil {
		return
	}
	for j := l.ordered.Swap(nil); j != nil; {
		next := j.order.next
		j.order.next = nil
		j.order.queued.Store(false) // a newer order from now on comes by itself
		if word := j.order.word.Load(); word != j.order.taken {
			j.order.taken = word
			l.startOrder(j, Step(word&stepMask), word>>stepBits, j.order.by.Load())
		}
		l.resume(j)
		j = next
	}
}
