package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/reliable"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"time"
)

// Kinds of messages.
const (
	messageEngine reliable.Kind = iota
	messageCollective
)

const (
	// collectiveTimeout is how long a step of a fence is sent before its receiver is taken for
	// lost: its agent may be starting again, and the leader gives it 10 s for that before it ends
	// the job.
	collectiveTimeout = 15 * time.Second
	// directRepeat is when a message that went by a datagram is sent again, by the agents: more
	// than post waits with an acknowledgement, and than a busy machine takes.
	directRepeat = 250 * time.Millisecond
)

// Why a message does not arrive, besides post.ErrFull.
var (
	errNoJob  = errors.New("the job is not there any more")
	errSilent = fmt.Errorf("its steward has not answered for %v", collectiveTimeout)
)

// messages are what a job's steward says to others: of other nodes and, for jobs that are
// connected, of other jobs. Those of the same job it sends itself where they arrive, the others go
// by the agents.
type messages struct {
	office *reliable.Endpoint
	fences fences
	path   *path // nil: all go by the agents
}

// newMessages makes a job's; nothing is opened before something is sent.
func newMessages(j *job, now time.Time) *messages {
	return &messages{office: reliable.New(uint64(now.UnixNano())), fences: newFences(j), path: newPath(j)}
}

func (l *messages) close() {
	if l != nil && l.path != nil {
		l.path.close()
	}
}

// sendRelay sends a message of the engine to the steward of another node or job.
func (s *steward) sendRelay(e *pmi.Event) {
	s.write(reliable.Peer{Job: e.Job, Node: uint32(e.Node)}, e.Data, reliable.SendOptions{Kind: messageEngine})
}

// write sends a message, which must not be changed any more.
func (s *steward) write(to reliable.Peer, data []byte, terms reliable.SendOptions) {
	if s.messages.path.reaches(s.job.id, to, len(data)) {
		terms.RepeatAfter = directRepeat
	}
	message, err := s.messages.office.Send(s.now(), to, data, terms)
	if err != nil {
		s.lost(reliable.Message{To: to, Kind: terms.Kind, Data: data}, err)
		return
	}
	s.sendMessage(message)
}

// sendMessage sends a message by the short way, if there is one.
func (s *steward) sendMessage(l reliable.Message) {
	if !s.sendDirect(l) {
		s.sendByAgents(l)
	}
}

// sendByAgents hands a message to the agent. Without one it is kept, and handed to the next. A
// copy goes by a datagram all the same, where the port is known: it may arrive, by then, and shows
// the way.
func (s *steward) sendByAgents(l reliable.Message) {
	envelope := &scorev1.Envelope{
		Stream: l.Stream, Number: l.Number, Least: l.Least, HeardStream: l.HeardStream, Heard: l.Heard,
		Collective: l.Kind == messageCollective,
	}
	if l.To.Job == s.job.id {
		envelope.Port, envelope.Hears = s.pathTo(l.To.Node)
		if l.Number != 0 {
			s.copyDirect(l)
		}
	}
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Relay{Relay: &stewardpb.Relay{
		JobId: l.To.Job, NodeIndex: l.To.Node, Address: s.job.addressOf(l.To.Job, int(l.To.Node)), Data: l.Data, Envelope: envelope,
	}}})
}

// replayMessages hands a new agent what may have been lost with the one before.
func (s *steward) replayMessages() {
	if s.messages == nil {
		return
	}
	for _, message := range s.messages.office.ResendAll(s.now()) {
		s.sendByAgents(message)
	}
}

// relayed takes a message of another node or job that the agents have carried.
func (s *steward) relayed(m *stewardpb.Relay) {
	if s.messages == nil {
		return
	}
	from, e := reliable.Peer{Job: m.GetJobId(), Node: m.GetNodeIndex()}, m.GetEnvelope()
	if from.Job == s.job.id {
		s.updatePath(from.Node, e.GetPort(), e.GetHears())
	}
	kind := messageEngine
	if e.GetCollective() {
		kind = messageCollective
	}
	s.take(from, kind, reliable.Header{
		Stream: e.GetStream(), Number: e.GetNumber(), Least: e.GetLeast(), HeardStream: e.GetHeardStream(), Heard: e.GetHeard(),
	}, m.GetData())
}

// take takes a message, in whatever way it has come. The data is not kept.
func (s *steward) take(from reliable.Peer, kind reliable.Kind, envelope reliable.Header, data []byte) {
	if !s.messages.office.Receive(s.now(), from, envelope) {
		return
	}
	s.countMemory(len(data))
	switch {
	case kind == messageCollective:
		s.takeCollective(from, data)
	case s.endpoint() != nil:
		s.doPMIx(func(e *pmi.Engine) error { return e.Relayed(s.now(), from.Job, int(from.Node), data) })
	}
}

// relayFailed takes back a message to a job that is not there, or to where the agent sends nothing.
func (s *steward) relayFailed(m *stewardpb.Relay) {
	if s.messages == nil {
		return
	}
	to := reliable.Peer{Job: m.GetJobId(), Node: m.GetNodeIndex()}
	message, ok := s.messages.office.Withdraw(to, m.GetEnvelope().GetNumber())
	switch {
	case !ok:
	case m.GetRefused() != "":
		s.lost(message, errors.New(m.GetRefused()))
	default:
		s.lost(message, errNoJob)
	}
}

// lost tells who has sent a message that it will not arrive, once that is through with what it
// does: it may have been sent right now.
func (s *steward) lost(l reliable.Message, reason error) {
	s.runLater(func() {
		switch {
		case l.Kind == messageCollective:
			s.lostCollective(l, reason)
		case s.endpoint() != nil:
			s.doPMIx(func(e *pmi.Engine) error {
				e.RelayFailed(l.To.Job, int(l.To.Node), l.Data)
				return nil
			})
		}
	})
}

// tickMessages repeats what was not acknowledged, acknowledges, and gives up.
func (s *steward) tickMessages() {
	now := s.now()
	if at := s.messages.deadline(); at.IsZero() || now.Before(at) {
		return
	}
	messages, lost := s.messages.office.Tick(now)
	for _, message := range messages {
		if message.Number == 0 {
			s.sendMessage(message)
			continue
		}
		s.messages.path.missed(s.job.id, message.To)
		s.sendByAgents(message)
	}
	for _, message := range lost {
		s.lost(message, errSilent)
	}
}

func (l *messages) deadline() (none time.Time) {
	if l == nil {
		return none
	}
	return l.office.Deadline()
}

// acknowledge says at once what has come. The ranks here have ended, and stewards of other nodes
// wait with the end of their part.
func (s *steward) acknowledge() {
	if s.messages == nil {
		return
	}
	for _, message := range s.messages.office.Acknowledge() {
		s.sendMessage(message)
	}
}

// swept ends the node's part, no sooner than what was sent for the job's fences has arrived: ranks
// of other nodes may be in one that is over here. A job that was killed has none any more.
func (s *steward) swept() {
	s.awaitsMessages = s.messages != nil && !s.life.Killed() && s.messages.office.Awaits(messageCollective)
	if !s.awaitsMessages {
		s.life.Swept(s.now())
	}
}

// runLater has f run once what is under way is done: by the same call of the loop, but for none of
// its callers.
func (s *steward) runLater(f func()) {
	of := s.job
	s.after = append(s.after, func() {
		if s.job == of && s.messages != nil {
			f()
		}
	})
}

// runAfter runs what was put off, and what that puts off.
func (s *steward) runAfter() {
	for len(s.after) > 0 {
		f := s.after[0]
		s.after = s.after[1:]
		f()
	}
	s.after = nil
	if s.awaitsMessages {
		s.swept()
	}
}
