// Package outbox holds a job's messages for the leader until a stream has delivered them.
package outbox

import (
	"score/scored/api/scorev1"
	"slices"
	"sync"
)

// maxNotes bounds the messages of Note that wait for a leader.
const maxNotes = 16

// Leader takes the messages.
type Leader interface {
	// Send sends a message on the present stream, if there is one; it does not wait.
	Send(*scorev1.AgentMessage)
	// Connected reports whether there is a stream.
	Connected() bool
}

// Outbox is the outbox of one job.
type Outbox struct {
	leader Leader

	mu     sync.Mutex
	closed bool
	kept   []*scorev1.AgentMessage // every new stream gets them; none once it is closed
	notes  []*scorev1.AgentMessage // the next stream gets them
}

// New returns an empty outbox.
func New(leader Leader) *Outbox { return &Outbox{leader: leader} }

// Send sends a message once, unless the outbox is closed.
func (o *Outbox) Send(message *scorev1.AgentMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.leader.Send(message)
	}
}

// Keep sends a message, and again on every new stream until Drop or Close drops it.
func (o *Outbox) Keep(message *scorev1.AgentMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.kept = append(o.kept, message)
		o.leader.Send(message)
	}
}

// Note sends a message once, now or on the next stream.
func (o *Outbox) Note(message *scorev1.AgentMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case o.leader.Connected():
		o.leader.Send(message)
	case len(o.notes) < maxNotes:
		o.notes = append(o.notes, message)
	}
}

// Repeat sends on a new stream the messages that the old one may have lost.
func (o *Outbox) Repeat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, message := range o.kept {
		o.leader.Send(message)
	}
	for _, message := range o.notes {
		o.leader.Send(message)
	}
	o.notes = nil
}

// Drop drops the kept messages that the leader has answered.
func (o *Outbox) Drop(answered func(*scorev1.AgentMessage) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = slices.DeleteFunc(o.kept, answered)
}

// Close drops all messages. The outbox sends nothing afterwards, since the job's number may belong
// to another job.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.kept, o.notes = true, nil, nil
}
