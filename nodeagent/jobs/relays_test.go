package jobs

import (
	"score/nodeagent/steward/stewardpb"
	"testing"
)

func message(address string, number uint64, bytes int) *stewardpb.Relay {
	return &stewardpb.Relay{Address: address, JobId: number, Data: make([]byte, bytes)}
}

// A job has few calls to an agent at once. The messages beyond wait in their order, and those to another
// agent do not wait for them.
func TestCallsToOneAgentAreBounded(t *testing.T) {
	var r relays
	var begun []*stewardpb.Relay
	for i := range uint64(maxCalls + 3) {
		m := message("far:1", i, 1)
		begin := r.add(m)
		if begin != (i < maxCalls) {
			t.Fatalf("message %d begins a call: %v", i, begin)
		}
		if begin {
			begun = append(begun, m)
		}
	}
	near := message("near:1", 0, 1)
	if !r.add(near) || r.next(near) != nil {
		t.Error("a message waits for another agent")
	}
	for i := range uint64(3) {
		next := r.next(begun[i])
		if next.GetJobId() != maxCalls+i {
			t.Errorf("message %d is next, want %d", next.GetJobId(), maxCalls+i)
		}
		begun[i] = next
	}
	for _, m := range begun {
		if next := r.next(m); next != nil {
			t.Errorf("message %d is next, but none waits", next.GetJobId())
		}
	}
	if r.count != 0 || r.bytes != 0 || len(r.to) != 0 {
		t.Errorf("%d messages, %d bytes, %d agents are left", r.count, r.bytes, len(r.to))
	}
}

// What waits is bounded, in messages and in bytes.
func TestWaitingMessagesAreBounded(t *testing.T) {
	for name, bytes := range map[string]int{"small": 1, "large": maxRelay / 2} {
		var r relays
		begun, m := 0, message("far:1", 0, bytes)
		for range 2 * maxRelays {
			if r.add(m) {
				begun++
			}
			if r.count > maxRelays || r.bytes > maxRelayBytes {
				t.Fatalf("%s: %d messages, %d bytes", name, r.count, r.bytes)
			}
		}
		if want := min(maxRelays, maxRelayBytes/bytes); r.count != want || begun != min(want, maxCalls) {
			t.Errorf("%s: %d messages, %d calls, want %d messages", name, r.count, begun, want)
		}
	}
}
