package jobs

import (
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"testing"
)

var zeros [maxRelay]byte

func message(address string, number uint64, bytes int) *stewardpb.Relay {
	return &stewardpb.Relay{Address: address, Header: &agentpb.MessageHeader{Number: number}, Data: zeros[:bytes]}
}

// began appends the messages that begin, and reports whether that is one alone.
func began(all *[]*stewardpb.Relay, begin []*stewardpb.Relay) bool {
	*all = append(*all, begin...)
	return len(begin) == 1
}

// A job has few calls to an agent at once. The messages beyond wait in their order, and those to
// another agent do not wait for them.
func TestCallsToOneAgentAreBounded(t *testing.T) {
	r := newRelays(&userRelays{})
	var calls []*stewardpb.Relay
	for i := range uint64(maxCalls + 3) {
		if began(&calls, r.add(message("far:1", i, 1))) != (i < maxCalls) {
			t.Fatalf("message %d: %d calls", i, len(calls))
		}
	}
	near := r.add(message("near:1", 0, 1))
	if len(near) != 1 || len(r.next(near[0])) != 0 {
		t.Error("a message waits for another agent")
	}
	for i := range uint64(3) {
		if !began(&calls, r.next(calls[i])) || calls[len(calls)-1].GetHeader().GetNumber() != maxCalls+i {
			t.Errorf("%v is next, want message %d", calls[len(calls)-1], maxCalls+i)
		}
	}
	for _, m := range calls[3:] {
		if next := r.next(m); len(next) != 0 {
			t.Errorf("%v are next, but none waits", next)
		}
	}
	if r.count != 0 || r.bytes != 0 || len(r.to) != 0 {
		t.Errorf("%d messages, %d bytes, %d agents are left", r.count, r.bytes, len(r.to))
	}
}

// Large messages to an agent go one by one, and small ones beside each other after them.
func TestCallsWithLargeMessagesAreFew(t *testing.T) {
	r := newRelays(&userRelays{})
	var calls []*stewardpb.Relay
	for i := range uint64(3) {
		began(&calls, r.add(message("far:1", i, maxCallBytes)))
	}
	for i := range uint64(maxCalls) {
		began(&calls, r.add(message("far:1", 3+i, 1)))
	}
	for done := range 2 {
		if len(calls) != 1+done {
			t.Fatalf("%d calls when %d large messages are delivered", len(calls)-done, done)
		}
		began(&calls, r.next(calls[done]))
	}
	if began(&calls, r.next(calls[2])); len(calls) != 3+maxCalls {
		t.Errorf("%d calls after the large messages, want %d", len(calls)-3, maxCalls)
	}
}

// What waits is bounded, in messages and in bytes.
func TestWaitingMessagesAreBounded(t *testing.T) {
	for name, bytes := range map[string]int{"small": 1, "large": maxRelay / 2} {
		r := newRelays(&userRelays{})
		var calls []*stewardpb.Relay
		for i := range 2 * uint64(maxRelays) {
			began(&calls, r.add(message("far:1", i, bytes)))
			if r.count > maxRelays || r.bytes > maxUserRelayBytes {
				t.Fatalf("%s: %d messages, %d bytes", name, r.count, r.bytes)
			}
		}
		if want := min(maxRelays, maxUserRelayBytes/bytes); r.count != want {
			t.Errorf("%s: %d messages, want %d", name, r.count, want)
		}
	}
}

// A message that is sent again while it waits takes no more room, and has the newer
// acknowledgement.
func TestRepeatedMessagesWaitOnce(t *testing.T) {
	r := newRelays(&userRelays{})
	var calls []*stewardpb.Relay
	for i := range uint64(maxCalls + 1) { // of which the last waits
		began(&calls, r.add(message("far:1", i, 1)))
	}
	count, bytes := r.count, r.bytes
	for ack := range uint64(100) {
		again := message("far:1", maxCalls, 1)
		again.Header.Ack = ack
		if len(r.add(again)) != 0 {
			t.Fatal("a message that waits begins a call")
		}
	}
	if r.count != count || r.bytes != bytes || r.user.bytes.Load() != int64(bytes) {
		t.Errorf("%d messages and %d bytes have become %d and %d", count, bytes, r.count, r.bytes)
	}
	last := r.next(calls[0])
	if len(last) != 1 || last[0].GetHeader().GetNumber() != maxCalls || last[0].GetHeader().GetAck() != 99 {
		t.Fatalf("%v is next", last)
	}
	if next := r.next(last[0]); len(next) != 0 {
		t.Errorf("%v waits, too", next)
	}
}

// The jobs of a user share a bound, beside what each may have in any case; another user's do not
// mind.
func TestJobsOfAUserShareTheirBound(t *testing.T) {
	var users relaysOfUsers
	flood := newRelays(users.of(7))
	var calls []*stewardpb.Relay
	for i := range uint64(2 * maxUserRelayBytes / ownRelayBytes) {
		began(&calls, flood.add(message("far:1", i, ownRelayBytes)))
	}
	if flood.bytes != maxUserRelayBytes {
		t.Errorf("a job has %d bytes", flood.bytes)
	}
	beside, other := newRelays(users.of(7)), newRelays(users.of(8))
	beside.add(message("far:1", 0, ownRelayBytes/2))
	beside.add(message("far:1", 1, ownRelayBytes/2))
	if beside.count != 2 {
		t.Error("a job does not have its own part beside the user's other")
	}
	if beside.add(message("far:1", 2, 1)); beside.count != 2 {
		t.Error("a job has more than its own part though the user has none left")
	}
	if large := newRelays(users.of(7)); len(large.add(message("far:1", 0, maxRelay))) != 1 {
		t.Error("a job cannot send one large message")
	}
	for i := range uint64(4) {
		other.add(message("far:1", i, ownRelayBytes))
	}
	if other.count != 4 {
		t.Error("a user's messages do not find room beside another's")
	}
	for i := 0; i < len(calls); i++ {
		began(&calls, flood.next(calls[i]))
	}
	if flood.bytes != 0 || len(calls) != maxUserRelayBytes/ownRelayBytes || users.of(8).bytes.Load() != 4*ownRelayBytes {
		t.Errorf("%d bytes of the flood are left after %d calls", flood.bytes, len(calls))
	}
}
