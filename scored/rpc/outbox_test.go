package rpc

import (
	"score/scored/api/agentpb"
	"testing"
)

// TestOutboxKeepsOrder: an agent that repeats all its questions at once gets all answers, in order.
func TestOutboxKeepsOrder(t *testing.T) {
	o := newOutbox()
	var put, taken []*agentpb.ServerMessage
	for _, burst := range []int{1, 3, 20_000, 2} {
		for range burst {
			m := &agentpb.ServerMessage{}
			put = append(put, m)
			if !o.put(m) {
				t.Fatalf("no room after %d messages", len(put))
			}
		}
		<-o.ready
		taken = append(taken, o.take()...)
	}
	if len(taken) != len(put) {
		t.Fatalf("took %d messages of %d", len(taken), len(put))
	}
	for i := range put {
		if put[i] != taken[i] {
			t.Fatalf("message %d is out of order", i)
		}
	}
}
