package steward

import (
	"score/nodeagent/steward/reliable"
	"testing"

	"golang.org/x/sys/unix"
)

// Requests of ranks wait while other nodes have not acknowledged many messages, or large ones, and
// are read again when they have, also when the job is over.
func TestRequestsWaitForOtherNodes(t *testing.T) {
	other := reliable.Peer{Job: 7, Node: 1}
	for _, tt := range []struct {
		name    string
		bytes   int // of a message
		fitting int // messages that hold nothing
		end     func(t *testing.T, s *steward, sent uint64)
	}{
		{"many, acknowledged", 10, crowdMessages, func(t *testing.T, s *steward, sent uint64) { acknowledged(t, s, other, sent) }},
		{"large, acknowledged", crowdBytes / 4, 4, func(t *testing.T, s *steward, sent uint64) { acknowledged(t, s, other, sent) }},
		{"many, lost", 10, crowdMessages, func(_ *testing.T, s *steward, _ uint64) {
			for at := s.now(); !s.messages.deadline().IsZero(); at = s.messages.deadline() {
				_, _ = s.messages.endpoint.Tick(at)
			}
			s.checkCrowd()
		}},
		{"many, job over", 10, crowdMessages, func(_ *testing.T, s *steward, _ uint64) { s.clients.setCrowded(false) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cs := testClients(t)
			s := &steward{loop: cs.loop, clients: *cs, perJob: perJob{job: newJob(order()), messages: &messages{endpoint: reliable.New(1)}}}
			asking, reported := askingClient(t, cs)
			asks := func() bool { return reported() && s.clients.mayRead(asking, unix.EPOLLIN) }
			for range tt.fitting {
				s.write(other, make([]byte, tt.bytes), reliable.SendOptions{Kind: messageEngine})
			}
			if !asks() {
				t.Error("a request waits for messages that are few")
			}
			s.write(other, make([]byte, tt.bytes), reliable.SendOptions{Kind: messageEngine})
			for range 2 { // the first holds it, and then nothing is reported
				if asks() {
					t.Error("a request does not wait")
				}
			}
			tt.end(t, s, uint64(tt.fitting)+1)
			if !asks() {
				t.Error("a request waits still")
			}
		})
	}
}

// acknowledged lets a peer acknowledge first a quarter of the messages, then all.
func acknowledged(t *testing.T, s *steward, from reliable.Peer, sent uint64) {
	t.Helper()
	for _, upTo := range []uint64{sent / 4, sent} {
		s.take(from, messageEngine, reliable.Header{Stream: 5, AckStream: 1, Ack: upTo}, nil)
		if waits := upTo < sent; s.clients.crowded != waits {
			t.Errorf("%d of %d are acknowledged; requests wait: %v", upTo, sent, !waits)
		}
	}
}

// Requests of ranks wait while another steward asks for a pause.
func TestRequestsWaitForPause(t *testing.T) {
	cs := testClients(t)
	s := &steward{loop: cs.loop, clients: *cs, perJob: perJob{job: newJob(order()), messages: &messages{endpoint: reliable.New(1)}}}
	asking, reported := askingClient(t, cs)
	for number, pause := range []bool{false, true, false} {
		s.take(reliable.Peer{Job: 7, Node: 1}, messageEngine, reliable.Header{Stream: 5, Number: uint64(number) + 1, Pause: pause}, nil)
		if asks := reported() && s.clients.mayRead(asking, unix.EPOLLIN); asks == pause {
			t.Errorf("message %d: pause %v, a request is read: %v", number+1, pause, asks)
		}
	}
}

// While a rank reads late, other stewards are asked to pause, until half of what waits has been
// read.
func TestLateRankPausesOtherNodes(t *testing.T) {
	cs := testClients(t)
	s := &steward{loop: cs.loop, clients: *cs, perJob: perJob{job: newJob(order()), messages: &messages{endpoint: reliable.New(1)}}}
	c, peer := clientOf(t, cs)
	asksPause := func() bool {
		s.take(reliable.Peer{Job: 7, Node: 1}, messageEngine, reliable.Header{Stream: 5, Number: 1}, nil)
		s.tickMessages()
		answers := s.messages.endpoint.Acknowledge(s.now())
		return len(answers) == 1 && answers[0].Pause
	}
	if asksPause() {
		t.Error("pause while nothing waits")
	}
	if err := s.clients.send(c, make([]byte, 2*unsentLate)); err != nil {
		t.Fatal(err)
	}
	if !asksPause() {
		t.Error("no pause for a rank that reads late")
	}
	buffer := make([]byte, unsentLate)
	for len(c.unsent) > unsentLate/2 {
		if !asksPause() {
			t.Fatalf("no pause while %d bytes wait", len(c.unsent))
		}
		if _, err := unix.Read(peer, buffer); err != nil {
			t.Fatal(err)
		}
		if err := s.clients.send(c, nil); err != nil {
			t.Fatal(err)
		}
	}
	if asksPause() {
		t.Error("pause though the rank has read")
	}
	s.clients.close(c)
}
