package leadertest

import (
	"score/scored/api/agentpb"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// maxUnread is how many messages a test may leave unread.
const maxUnread = 1 << 16

// Session is one stream of one agent.
type Session struct {
	// Hello is how the agent introduced itself.
	Hello *agentpb.Hello

	stream   *connect.BidiStream[agentpb.AgentMessage, agentpb.ServerMessage]
	sending  sync.Mutex // guards ended and sending
	ended    bool
	messages chan *agentpb.AgentMessage
	passed   []*agentpb.AgentMessage // received, not picked
	pings    chan *agentpb.Ping
	drop     chan struct{}
	gone     chan struct{}
	dropOnce sync.Once
}

func newSession(hello *agentpb.Hello, stream *connect.BidiStream[agentpb.AgentMessage, agentpb.ServerMessage]) *Session {
	return &Session{
		Hello:    hello,
		stream:   stream,
		messages: make(chan *agentpb.AgentMessage, maxUnread),
		pings:    make(chan *agentpb.Ping, maxUnread),
		drop:     make(chan struct{}),
		gone:     make(chan struct{}),
	}
}

func (s *Session) receive(l *Leader) {
	defer close(s.gone)
	for {
		message, err := s.stream.Receive()
		if err != nil {
			return
		}
		ping := message.GetPing()
		if ping == nil {
			s.messages <- message
			continue
		}
		if l.options.Mute == nil || !l.options.Mute.Load() {
			s.Send(l.pong(ping))
		}
		select {
		case s.pings <- ping:
		default:
		}
	}
}

// Send sends; a broken stream shows in what does not come back.
func (s *Session) Send(message *agentpb.ServerMessage) {
	s.sending.Lock()
	defer s.sending.Unlock()
	if !s.ended {
		_ = s.stream.Send(message)
	}
}

// end keeps later calls of Send off a stream whose handler returns.
func (s *Session) end() {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.ended = true
}

// Receive waits for the next message but pings.
func (s *Session) Receive(t testing.TB) *agentpb.AgentMessage {
	t.Helper()
	return s.Until(t, "anything", func(*agentpb.AgentMessage) bool { return true })
}

// Until waits for a message that pick accepts, and takes it. The others can
// be taken later. A test calls Receive and Until from one goroutine.
func (s *Session) Until(t testing.TB, what string, pick func(*agentpb.AgentMessage) bool) *agentpb.AgentMessage {
	t.Helper()
	if i := slices.IndexFunc(s.passed, pick); i >= 0 {
		return s.takeOut(i)
	}
	limit := time.After(Timeout)
	for {
		select {
		case message := <-s.messages:
			if pick(message) {
				return message
			}
			s.passed = append(s.passed, message)
		case <-s.gone:
			if i := slices.IndexFunc(s.Passed(), pick); i >= 0 {
				return s.takeOut(i)
			}
			t.Fatalf("the stream ended before the agent sent: %s; after %d messages", what, len(s.passed))
		case <-limit:
			t.Fatalf("the agent did not send: %s; it sent %d other messages", what, len(s.passed))
		}
	}
}

// takeOut takes a message from those that were not picked.
func (s *Session) takeOut(i int) *agentpb.AgentMessage {
	message := s.passed[i]
	s.passed = slices.Delete(s.passed, i, i+1)
	return message
}

// Passed returns, without waiting, the messages that were received and not taken.
func (s *Session) Passed() []*agentpb.AgentMessage {
	for {
		select {
		case message := <-s.messages:
			s.passed = append(s.passed, message)
		default:
			return s.passed
		}
	}
}

// Ping waits for the next ping.
func (s *Session) Ping(t testing.TB) *agentpb.Ping {
	t.Helper()
	select {
	case ping := <-s.pings:
		return ping
	case <-time.After(Timeout):
		t.Fatal("the agent did not ping")
		return nil
	}
}

// Drop breaks the stream from the leader's side.
func (s *Session) Drop() { s.dropOnce.Do(func() { close(s.drop) }) }

// Gone is closed when the agent has left the stream.
func (s *Session) Gone() <-chan struct{} { return s.gone }
