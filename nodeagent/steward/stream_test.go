package steward

import (
	"score/nodeagent/steward/reliable"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"testing"
	"time"
)

// A steward of another job that remembers an earlier attempt of this one takes messages of the
// next, which may be on a host whose clock is behind.
func TestTheNextAttemptIsHeard(t *testing.T) {
	now := time.Now()
	other := reliable.New(1)
	from, to := reliable.Peer{Job: 1}, reliable.Peer{Job: 2}
	for _, attempt := range []struct {
		name   string
		stream uint64
	}{
		{"an earlier version", uint64(now.UnixNano())},
		{"attempt 1", streamOf(1, now)},
		{"attempt 2", streamOf(2, now.Add(-time.Hour))},
		{"a later job of the same number and attempt", streamOf(2, now.Add(-time.Hour+time.Second))},
	} {
		m, ok, err := reliable.New(attempt.stream).Send(now, to, nil, reliable.SendOptions{})
		if !ok || err != nil {
			t.Fatalf("%t, %v", ok, err)
		}
		if !other.Receive(now, from, m.Header) {
			t.Errorf("%s is not heard", attempt.name)
		}
	}
}

func TestTheStreamIsOfTheAttempt(t *testing.T) {
	now := time.Now()
	j := &job{order: &stewardpb.PrepareJob{Job: &agentpb.Prepare{Attempt: 3}}}
	m, _, err := newMessages(j, now).endpoint.Send(now, reliable.Peer{Job: 2}, nil, reliable.SendOptions{})
	if err != nil || m.Stream != streamOf(3, now) {
		t.Errorf("stream %x, %v", m.Stream, err)
	}
}
