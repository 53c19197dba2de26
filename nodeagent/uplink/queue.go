package uplink

import (
	"math"
	"score/scored/api"
	"score/scored/api/agentpb"
	"sync"
)

// queue holds messages for the present stream; without a stream it is empty.
type queue struct {
	// ready has an element when there may be something to take.
	ready chan struct{}

	mu       sync.Mutex
	overflow func() // nil while there is no stream
	limit    int    // of waiting
	waiting  []*agentpb.AgentMessage
	spare    []*agentpb.AgentMessage // the slice of the previous take, for reuse
}

func newQueue() queue {
	return queue{ready: make(chan struct{}, 1)}
}

// open begins a stream. Until bound is called, it accepts any number of messages.
func (q *queue) open(overflow func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.overflow, q.limit = overflow, math.MaxInt
}

// bound limits the messages to api.MaxQueued more than wait now: those are what a stream begins
// with, which the jobs keep anyway and always repeat. One message more calls overflow, once.
func (q *queue) bound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = len(q.waiting) + api.MaxQueued
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.overflow = nil
	clear(q.waiting)
	q.waiting = q.waiting[:0]
}

func (q *queue) push(message *agentpb.AgentMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.overflow == nil {
		return
	}
	if len(q.waiting) >= q.limit {
		q.overflow()
		q.overflow = nil
		return
	}
	q.waiting = append(q.waiting, message)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns all waiting messages in order; the slice is valid until the next take.
func (q *queue) take() []*agentpb.AgentMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	clear(q.spare)
	q.waiting, q.spare = q.spare[:0], taken
	return taken
}
