// Package outbox holds a job's messages for the leader until a stream has delivered them.
package outbox

import (
	"container/list"
	"score/scored/api/agentpb"
	"sync"
)

// maxNotes bounds the messages of Note that wait for a leader.
const maxNotes = 16

// Leader takes the messages.
type Leader interface {
	// Send sends a message on the present stream, if there is one; it does not wait.
	Send(*agentpb.AgentMessage)
	// Connected reports whether there is a stream.
	Connected() bool
}

// Outbox is the outbox of one job.
type Outbox struct {
	leader Leader

	mu     sync.Mutex
	closed bool
	kept   list.List                  // of *agentpb.AgentMessage: every new stream gets them; none once closed
	asked  map[Question]*list.Element // of kept
	notes  []*agentpb.AgentMessage    // the next stream gets them
}

// New returns an empty outbox.
func New(leader Leader) *Outbox {
	return &Outbox{leader: leader, asked: make(map[Question]*list.Element)}
}

// Question identifies a request of a job's ranks, which the leader answers. Thousands may be open,
// and an answer takes no longer for that: the agent handles no other order meanwhile.
type Question struct {
	kind    questionKind
	request uint64
}

type questionKind uint8

const (
	askedName questionKind = iota + 1
	askedSpawn
	askedPlaces
)

// Name is a request to publish, find or remove a name.
func Name(request uint64) Question { return Question{askedName, request} }

// Spawn is a request to start a job.
func Spawn(request uint64) Question { return Question{askedSpawn, request} }

// Places is a request for the places of another job.
func Places(request uint64) Question { return Question{askedPlaces, request} }

// question returns the question that a message asks; zero: none.
func question(message *agentpb.AgentMessage) Question {
	switch m := message.GetMessage().(type) {
	case *agentpb.AgentMessage_Name:
		return Name(m.Name.GetRequest())
	case *agentpb.AgentMessage_Spawn:
		return Spawn(m.Spawn.GetRequest())
	case *agentpb.AgentMessage_Places:
		return Places(m.Places.GetRequest())
	default:
		return Question{}
	}
}

// Send sends a message once, unless the outbox is closed.
func (o *Outbox) Send(message *agentpb.AgentMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.leader.Send(message)
	}
}

// Keep sends a message, and again on every new stream until its question is answered, or Close
// drops it.
func (o *Outbox) Keep(message *agentpb.AgentMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.leader.Send(message)
	q := question(message)
	if e := o.asked[q]; e != nil { // a steward repeats what it has asked, or no longer waits for a name
		e.Value = message
		return
	}
	e := o.kept.PushBack(message)
	if q != (Question{}) {
		o.asked[q] = e
	}
}

// Note sends a message once, now or on the next stream.
func (o *Outbox) Note(message *agentpb.AgentMessage) {
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
	for e := o.kept.Front(); e != nil; e = e.Next() {
		o.leader.Send(e.Value.(*agentpb.AgentMessage))
	}
	for _, message := range o.notes {
		o.leader.Send(message)
	}
	o.notes = nil
}

// Answered drops a message whose question the leader has answered.
func (o *Outbox) Answered(q Question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.asked[q]; e != nil {
		o.kept.Remove(e)
		delete(o.asked, q)
	}
}

// Close drops all messages. The outbox sends nothing afterwards, since the job's number may belong
// to another job.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept.Init()
	clear(o.asked)
	o.closed, o.notes = true, nil
}
