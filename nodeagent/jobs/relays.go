package jobs

import (
	"score/nodeagent/steward/stewardpb"
	"sync"
)

const (
	// maxRelay bounds a message between stewards in bytes: the keys of one rank.
	maxRelay = 32 << 20
	// maxCalls bounds a job's calls to one agent that are under way: enough for a long way, and of all
	// jobs of a node few enough for one connection (h2), since each call beyond makes another one.
	maxCalls = 16
	// maxRelays and maxRelayBytes bound a job's messages that are on their way or wait for a call: each
	// rank of a large node asks for a few others' keys at once. Further messages are dropped, and their
	// steward sends them again.
	maxRelays     = 4096
	maxRelayBytes = 2 * maxRelay
)

// relays are a job's messages to the stewards of other nodes and jobs. The zero relays has none.
type relays struct {
	mu    sync.Mutex
	count int // messages, and their bytes
	bytes int
	to    map[string]*relayQueue // by the agent's address
}

// relayQueue holds the messages to one agent.
type relayQueue struct {
	calls   int
	waiting []*stewardpb.Relay
}

// add takes a message, and reports whether the caller must begin a call for it. Otherwise a call under
// way takes it after its own, or it is dropped.
func (r *relays) add(m *stewardpb.Relay) (begin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == maxRelays || r.bytes+len(m.GetData()) > maxRelayBytes {
		return false
	}
	r.count, r.bytes = r.count+1, r.bytes+len(m.GetData())
	q := r.to[m.GetAddress()]
	if q == nil {
		if r.to == nil {
			r.to = make(map[string]*relayQueue)
		}
		q = &relayQueue{}
		r.to[m.GetAddress()] = q
	}
	if q.calls == maxCalls {
		q.waiting = append(q.waiting, m)
		return false
	}
	q.calls++
	return true
}

// next removes a message whose call is over, and returns the next one to the same agent. If it returns
// nil, there is none.
func (r *relays) next(done *stewardpb.Relay) *stewardpb.Relay {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count, r.bytes = r.count-1, r.bytes-len(done.GetData())
	q := r.to[done.GetAddress()]
	if len(q.waiting) > 0 {
		m := q.waiting[0]
		q.waiting = q.waiting[1:]
		return m
	}
	if q.calls--; q.calls == 0 {
		delete(r.to, done.GetAddress())
	}
	return nil
}
