package uplink

import (
	"score/scored/api"
	"score/scored/api/agentpb"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueWithoutStreamHoldsNothing(t *testing.T) {
	q := newQueue()
	q.push(&agentpb.AgentMessage{})
	q.open(func() {})
	if got := q.take(); len(got) != 0 {
		t.Errorf("took %d messages", len(got))
	}
	q.push(&agentpb.AgentMessage{})
	q.close()
	q.open(func() {})
	if got := q.take(); len(got) != 0 {
		t.Errorf("took %d messages of the stream before", len(got))
	}
}

func TestQueueKeepsOrder(t *testing.T) {
	q := newQueue()
	q.open(func() { t.Error("overflow") })
	var pushed, taken []*agentpb.AgentMessage
	for round := range 5 {
		for range round + 1 {
			m := &agentpb.AgentMessage{}
			pushed = append(pushed, m)
			q.push(m)
		}
		<-q.ready
		taken = append(taken, q.take()...)
	}
	for i := range pushed {
		if pushed[i] != taken[i] {
			t.Fatalf("message %d is out of order", i)
		}
	}
}

func TestQueueOverflowsOnce(t *testing.T) {
	q := newQueue()
	overflows := 0
	q.open(func() { overflows++ })
	q.bound()
	m := &agentpb.AgentMessage{}
	for range api.MaxQueued {
		q.push(m)
	}
	if overflows != 0 {
		t.Fatal("overflow before the bound")
	}
	q.push(m)
	q.push(m)
	if overflows != 1 {
		t.Errorf("%d overflows", overflows)
	}
	if got := len(q.take()); got != api.MaxQueued {
		t.Errorf("took %d", got)
	}
}

// TestQueueTakesWhatIsRepeated: a stream begins with all that the jobs keep. If that could
// overflow, no stream would ever last again.
func TestQueueTakesWhatIsRepeated(t *testing.T) {
	q := newQueue()
	overflows := 0
	q.open(func() { overflows++ })
	m := &agentpb.AgentMessage{}
	for range 2 * api.MaxQueued {
		q.push(m)
	}
	q.bound()
	for range api.MaxQueued {
		q.push(m)
	}
	if overflows != 0 {
		t.Fatal("overflow by what was repeated")
	}
	q.push(m)
	if overflows != 1 {
		t.Errorf("%d overflows", overflows)
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	var b backoff
	ceiling := firstPause
	for range 20 {
		got := b.next()
		if got < ceiling/2 || got >= ceiling {
			t.Errorf("pause %v is not within [%v, %v)", got, ceiling/2, ceiling)
		}
		ceiling = min(2*ceiling, maxPause)
	}
}

func TestHeartbeatSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeartbeat()
		defer h.stop()
		start, due := time.Now(), time.Duration(0)
		for i := range uint64(quickPings + 3) {
			<-h.C()
			if took := time.Since(start); took != due {
				t.Errorf("ping %d is due after %v, want %v", i+1, took, due)
			}
			if n := h.next(); n != i+1 {
				t.Errorf("ping %d has the number %d", i+1, n)
			}
			if i < quickPings-1 {
				due += quickPingEvery
			} else {
				due += pingEvery
			}
		}
	})
}
