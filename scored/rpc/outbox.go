package rpc

import (
	"score/scored/api"
	"score/scored/api/agentpb"
	"sync"
)

// outbox holds the messages that wait for one agent, in order, up to api.MaxQueued. The stream of
// an agent that is further behind is closed; it connects again and gets the current state.
type outbox struct {
	ready chan struct{} // has an element when there may be something to take

	mu      sync.Mutex
	waiting []*agentpb.ServerMessage
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// put queues a message, and reports whether there was room.
func (o *outbox) put(message *agentpb.ServerMessage) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == api.MaxQueued {
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
func (o *outbox) take() []*agentpb.ServerMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.waiting
	o.waiting = nil
	return taken
}
