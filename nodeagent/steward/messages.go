package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/reliable"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"time"
)

// Kinds of messages.
const (
	messageEngine reliable.Kind = iota
	messageCollective
)

const (
	// collectiveTimeout is how long a step of a fence is repeated before its receiver counts as
	// lost. The receiver's agent may be starting again; the leader gives it 10 s for that before it
	// ends the job.
	collectiveTimeout = 15 * time.Second
	// directRepeat is the time after which a message sent by a datagram is sent again through the
	// agents. It is longer than an endpoint delays an acknowledgement, and longer than a busy
	// machine takes.
	directRepeat = 250 * time.Millisecond
	// crowdMessages and crowdBytes bound the unacknowledged messages while more requests of ranks
	// are read: requests cause most messages. Without a bound, a program that notifies others of
	// events as fast as it can would keep the agents busy. The bounds are what a program that
	// exchanges much, 5,000 messages each second, sends in a tenth of a second: an acknowledgement
	// may be delayed for that long. An agent makes fewer calls than that to another one at once.
	crowdMessages = 512
	crowdBytes    = reliable.MaxBytes / 4
)

// Why a message does not arrive, besides reliable.ErrFull.
var (
	errNoJob  = errors.New("the job is not there any more")
	errSilent = fmt.Errorf("its steward has not answered for %v", collectiveTimeout)
)

// messages exchanges messages with the stewards of the job's other nodes and of connected jobs.
// Within the job they go by datagrams where these arrive, otherwise through the agents.
type messages struct {
	endpoint *reliable.Endpoint
	fences   fences
	path     *path // nil: all go through the agents
}

// newMessages makes the messages of a job. It opens nothing before the first message.
func newMessages(j *job, now time.Time) *messages {
	stream := streamOf(j.order.GetJob().GetAttempt(), now)
	return &messages{endpoint: reliable.New(stream), fences: newFences(j), path: newPath(j)}
}

// streamOf returns the stream of a job's messages. A later attempt has a larger stream, whatever
// the clocks of its hosts say: connected jobs may remember an earlier attempt. The time
// distinguishes jobs that get the same number after an earlier snapshot was restored. Earlier
// versions use the time in nanoseconds, which is less.
func streamOf(attempt uint32, now time.Time) uint64 {
	return 1<<63 | uint64(attempt)<<32 | uint64(uint32(now.Unix()))
}

func (m *messages) close() {
	if m != nil && m.path != nil {
		m.path.close()
	}
}

// sendRelay sends a message of the engine to the steward of another node or job.
func (s *steward) sendRelay(e *pmi.Event) {
	s.write(reliable.Peer{Job: e.Job, Node: uint32(e.Node)}, e.Data, reliable.SendOptions{Kind: messageEngine})
}

// write sends a message. The caller must not change data after that.
func (s *steward) write(to reliable.Peer, data []byte, options reliable.SendOptions) {
	if s.messages.path.reaches(s.job.id, to, len(data)) {
		options.RepeatAfter = directRepeat
	}
	message, now, err := s.messages.endpoint.Send(s.now(), to, data, options)
	s.checkCrowd()
	if err != nil {
		s.reportLost(reliable.Message{To: to, Kind: options.Kind, Data: data}, err)
		return
	}
	if now {
		s.sendMessage(message)
	}
}

// sendMessage sends a message by a datagram if possible, else through the agents.
func (s *steward) sendMessage(m reliable.Message) {
	if !s.sendDirect(m) {
		s.sendByAgents(m)
	}
}

// sendByAgents passes a message to the agent, or keeps it for the next agent if there is none. If
// the receiver's port is known, a copy goes by a datagram as well: if it arrives, the next messages
// need no agent.
func (s *steward) sendByAgents(m reliable.Message) {
	header := &agentpb.MessageHeader{
		Stream: m.Stream, Number: m.Number, Least: m.Least, AckStream: m.AckStream, Ack: m.Ack,
		Pause: m.Pause, Collective: m.Kind == messageCollective,
	}
	if m.To.Job == s.job.id {
		header.Port, header.Received = s.pathTo(m.To.Node)
		if m.Number != 0 {
			s.copyDirect(m)
		}
	}
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Relay{Relay: &stewardpb.Relay{
		JobId: m.To.Job, NodeIndex: m.To.Node, Address: s.job.addressOf(m.To.Job, int(m.To.Node)), Data: m.Data, Header: header,
	}}})
}

// replayMessages sends a new agent the messages that may have been lost with the previous one.
func (s *steward) replayMessages() {
	if s.messages == nil {
		return
	}
	for _, message := range s.messages.endpoint.ResendAll(s.now()) {
		s.sendByAgents(message)
	}
}

// onRelay handles a message of another node or job that the agents have forwarded.
func (s *steward) onRelay(m *stewardpb.Relay) {
	if s.messages == nil {
		return
	}
	from, e := reliable.Peer{Job: m.GetJobId(), Node: m.GetNodeIndex()}, m.GetHeader()
	if from.Job == s.job.id {
		s.updatePath(from.Node, e.GetPort(), e.GetReceived())
	}
	kind := messageEngine
	if e.GetCollective() {
		kind = messageCollective
	}
	s.take(from, kind, reliable.Header{
		Stream: e.GetStream(), Number: e.GetNumber(), Least: e.GetLeast(), AckStream: e.GetAckStream(), Ack: e.GetAck(),
		Pause: e.GetPause(),
	}, m.GetData())
}

// take handles a message that came by a datagram or through the agents. It does not keep the data.
func (s *steward) take(from reliable.Peer, kind reliable.Kind, header reliable.Header, data []byte) {
	fresh := s.messages.endpoint.Receive(s.now(), from, header)
	s.checkCrowd()
	if !fresh {
		return
	}
	s.countMemory(len(data))
	switch {
	case kind == messageCollective:
		s.takeCollective(from, data)
	case s.endpoint() != nil:
		s.withPMIx(func(e *pmi.Engine) error { return e.Relayed(s.now(), from.Job, int(from.Node), data) })
	}
}

// checkCrowd makes requests of ranks wait from the moment when too many messages are not
// acknowledged until only half as many are. Requests also wait while another steward asks for a
// pause because its ranks read late.
func (s *steward) checkCrowd() {
	messages, bytes := s.messages.endpoint.Unacknowledged()
	switch {
	case messages > crowdMessages || bytes > crowdBytes || s.messages.endpoint.Paused():
		s.clients.setCrowded(true)
	case messages <= crowdMessages/2 && bytes <= crowdBytes/2:
		s.clients.setCrowded(false)
	}
}

// onRelayFailed handles a message that the agent returns: its job has ended, or the agent refused
// to forward it.
func (s *steward) onRelayFailed(m *stewardpb.Relay) {
	if s.messages == nil {
		return
	}
	to := reliable.Peer{Job: m.GetJobId(), Node: m.GetNodeIndex()}
	message, ok := s.messages.endpoint.Withdraw(s.now(), to, m.GetHeader().GetNumber())
	s.checkCrowd()
	switch {
	case !ok:
	case m.GetRefused() != "":
		s.reportLost(message, errors.New(m.GetRefused()))
	default:
		s.reportLost(message, errNoJob)
	}
}

// reportLost reports to the sender of a message that it will not arrive. It does so later, because
// the sender may still be sending it.
func (s *steward) reportLost(m reliable.Message, reason error) {
	s.runLater(func() {
		switch {
		case m.Kind == messageCollective:
			s.lostCollective(m, reason)
		case s.endpoint() != nil:
			s.withPMIx(func(e *pmi.Engine) error {
				e.RelayFailed(m.To.Job, int(m.To.Node), m.Data)
				return nil
			})
		}
	})
}

// tickMessages repeats messages, acknowledges received ones, and reports those that timed out. It
// asks other stewards to pause while the ranks here read late.
func (s *steward) tickMessages() {
	now := s.now()
	if s.messages != nil {
		s.messages.endpoint.SetPause(now, s.clients.late())
	}
	if at := s.messages.deadline(); at.IsZero() || now.Before(at) {
		return
	}
	messages, lost := s.messages.endpoint.Tick(now)
	s.checkCrowd()
	for _, message := range messages {
		if !message.Repeated {
			s.sendMessage(message)
			continue
		}
		s.messages.path.missed(s.job.id, message.To)
		s.sendByAgents(message)
	}
	for _, message := range lost {
		s.reportLost(message, errSilent)
	}
}

func (m *messages) deadline() (none time.Time) {
	if m == nil {
		return none
	}
	return m.endpoint.Deadline()
}

// acknowledge sends all pending acknowledgements: the ranks here have ended, and stewards of other
// nodes wait for them before they end their part.
func (s *steward) acknowledge() {
	if s.messages == nil {
		return
	}
	for _, message := range s.messages.endpoint.Acknowledge(s.now()) {
		s.sendMessage(message)
	}
}

// onSwept ends the node's part after everything sent for the job's fences has arrived: ranks of
// other nodes may still be in a fence that is over here. A killed job does not wait.
func (s *steward) onSwept() {
	s.awaitsMessages = s.messages != nil && !s.life.Killed() && s.messages.endpoint.Awaits(messageCollective)
	if !s.awaitsMessages {
		s.life.Swept(s.now())
	}
}

// runLater runs f at the end of the current turn of the loop, after all callers have returned.
func (s *steward) runLater(f func()) {
	of := s.job
	s.after = append(s.after, func() {
		if s.job == of && s.messages != nil {
			f()
		}
	})
}

// runAfter runs the functions of runLater, including those that they add in turn.
func (s *steward) runAfter() {
	for len(s.after) > 0 {
		f := s.after[0]
		s.after = s.after[1:]
		f()
	}
	s.after = nil
	if s.awaitsMessages {
		s.onSwept()
	}
}
