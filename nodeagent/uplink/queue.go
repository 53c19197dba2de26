package uplink

import (
	"math"
	"score/scored/api/scorev1"
	"sync"
)

// MaxQueued bounds the messages that wait for a slow leader, beside those with which a stream begins:
// the jobs keep these anyway, and repeat them however many they are. It is enough for the requests
// of 16 jobs that ask as much as they may (pmi.MaxAsked).
const MaxQueued = 1 << 17

// queue holds messages for the present stream; without one it holds nothing.
type queue struct {
	// ready has an element when there may be something to take.
	ready chan struct{}

	mu       sync.Mutex
	overflow func() // nil while there is no stream
	limit    int    // of waiting
	waiting  []*scorev1.AgentMessage
	spare    []*scorev1.AgentMessage // the backing of the slice taken before
}

func newQueue() queue {
	return queue{ready: make(chan struct{}, 1)}
}

// open begins a stream, which takes any number of messages until bound is called.
func (q *queue) open(overflow func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.overflow, q.limit = overflow, math.MaxInt
}

// bound limits the messages to MaxQueued more than wait now. Then overflow is called once when there
// is one more.
func (q *queue) bound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = len(q.waiting) + MaxQueued
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.overflow = nil
	clear(q.waiting)
	q.waiting = q.waiting[:0]
}

func (q *queue) push(message *scorev1.AgentMessage) {
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

// take returns all that waits, in order; the slice holds until the next take.
func (q *queue) take() []*scorev1.AgentMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waiting
	clear(q.spare)
	q.waiting, q.spare = q.spare[:0], taken
	return taken
}
