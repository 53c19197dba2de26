package rpc

import (
	"score/scored/api/scorev1"
	"sync"
)

// maxOutbox bounds the messages queued for an agent: the answers to all that the ranks of its node
// may ask at once (uplink.MaxQueued), since an agent repeats its questions on each new stream. The
// stream of an agent that is further behind is closed; it connects again and gets the current state.
const maxOutbox = 1 << 17

// outbox holds the messages that wait for one agent, in order.
type outbox struct {
	ready chan struct{} // has an element when there may be something to take

	mu      sync.Mutex
	waiting []*scorev1.ServerMessage
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// put queues a message, and reports whether there was room.
func (o *outbox) put(message *scorev1.ServerMessage) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == maxOutbox {
		return false
	}
	o.waiting = append(o.waiting, message)
	select {
	case o.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns all that waits.
func (o *outbox) take() []*scorev1.ServerMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.waiting
	o.waiting = nil
	return taken
}
