package uplink

import (
	"score/scored/api/scorev1"
	"sync"
)

// MaxQueued bounds the messages that wait for a slow leader. The largest burst of a node is the
// exits of its ranks, at most 4,096.
const MaxQueued = 16384

// queue holds messages for the present stream; without one it holds nothing.
type queue struct {
	// ready has an element when there may be something to take.
	ready chan struct{}

	mu       sync.Mutex
	overflow func() // nil while there is no stream
	waiting  []*scorev1.AgentMessage
	spare    []*scorev1.AgentMessage // the backing of the slice taken before
}

func newQueue() queue {
	return queue{ready: make(chan struct{}, 1)}
}

// open begins a stream; overflow is called once when MaxQueued is passed.
func (q *queue) open(overflow func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.overflow = overflow
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
	if len(q.waiting) == MaxQueued {
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
