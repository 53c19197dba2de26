package jobs

import (
	"score/nodeagent/steward/stewardpb"
	"sync"
	"sync/atomic"
)

const (
	// maxRelay bounds a message between stewards in bytes: the keys of one rank.
	maxRelay = 32 << 20
	// maxCalls bounds a job's calls to one agent that are under way: enough to fill a path with a
	// long delay. For all jobs of a node together it is few enough for one connection (h2), since
	// each call beyond what a connection takes opens another one.
	maxCalls = 16
	// maxCallBytes bounds the bytes of the messages of these calls, if there is more than one. A
	// call takes several times as much memory in both agents, and large messages fill the path one
	// by one.
	maxCallBytes = 2 << 20
	// maxRelays bounds a job's messages that are on their way or wait for a call: each rank of a
	// large node asks for the keys of a few others at once. Further messages are dropped, and their
	// steward sends them again.
	maxRelays = 4096
	// maxUserRelayBytes bounds the bytes of such messages of all jobs of a user: the largest
	// message, and what a steward sends before it awaits an answer.
	maxUserRelayBytes = maxRelay + 16<<20
	// ownRelayBytes is what a job may have of them in any case, so that the user's other jobs
	// cannot stop it. A job without messages may have one that is larger.
	ownRelayBytes = 1 << 20
)

// relays are a job's messages to the stewards of other nodes and jobs.
type relays struct {
	user *userRelays

	mu    sync.Mutex
	count int // messages, and their bytes
	bytes int
	to    map[string]*relayQueue // by the agent's address
}

// relayQueue holds the messages to one agent: the number of calls under way and their bytes, and
// the messages that wait for a call, in the order of keys.
type relayQueue struct {
	calls   int
	calling int
	keys    []relayKey
	waiting map[relayKey]*stewardpb.Relay
}

// relayKey identifies a message, also when it is sent again.
type relayKey struct {
	job            uint64
	node           uint32
	stream, number uint64
}

func keyOf(m *stewardpb.Relay) relayKey {
	return relayKey{m.GetJobId(), m.GetNodeIndex(), m.GetHeader().GetStream(), m.GetHeader().GetNumber()}
}

// newRelays returns an empty set of messages for a job of the user.
func newRelays(user *userRelays) *relays {
	return &relays{user: user, to: make(map[string]*relayQueue)}
}

// add adds a message, and returns the messages for which the caller must begin a call; the others
// begin when a call has ended. A message that is sent again while it waits replaces its earlier
// copy. add drops messages beyond the bounds.
func (r *relays) add(m *stewardpb.Relay) (begin []*stewardpb.Relay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, key := r.to[m.GetAddress()], keyOf(m)
	if q != nil && q.waiting[key] != nil {
		r.forget(q.waiting[key])
		q.waiting[key] = m
		r.keep(m)
		return nil
	}
	own := r.count == 0 || r.bytes+len(m.GetData()) <= ownRelayBytes
	if r.count == maxRelays || !own && !r.user.hasRoom(len(m.GetData())) {
		return nil
	}
	r.keep(m)
	if q == nil {
		q = &relayQueue{waiting: make(map[relayKey]*stewardpb.Relay)}
		r.to[m.GetAddress()] = q
	}
	q.keys, q.waiting[key] = append(q.keys, key), m
	return q.begin()
}

// next removes a message whose call has ended, and returns the messages for which the caller must
// begin a call.
func (r *relays) next(done *stewardpb.Relay) (begin []*stewardpb.Relay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(done)
	q := r.to[done.GetAddress()]
	q.calls, q.calling = q.calls-1, q.calling-len(done.GetData())
	begin = q.begin()
	if q.calls == 0 {
		delete(r.to, done.GetAddress())
	}
	return begin
}

// begin takes as many messages as may be in calls now.
func (q *relayQueue) begin() (messages []*stewardpb.Relay) {
	for len(q.keys) > 0 && q.calls < maxCalls {
		m := q.waiting[q.keys[0]]
		if q.calls > 0 && q.calling+len(m.GetData()) > maxCallBytes {
			break
		}
		delete(q.waiting, q.keys[0])
		q.keys = q.keys[1:]
		q.calls, q.calling = q.calls+1, q.calling+len(m.GetData())
		messages = append(messages, m)
	}
	return messages
}

func (r *relays) keep(m *stewardpb.Relay) {
	r.count, r.bytes = r.count+1, r.bytes+len(m.GetData())
	r.user.add(len(m.GetData()))
}

func (r *relays) forget(m *stewardpb.Relay) {
	r.count, r.bytes = r.count-1, r.bytes-len(m.GetData())
	r.user.add(-len(m.GetData()))
}

// userRelays counts the bytes of the messages of all jobs of a user.
type userRelays struct{ bytes atomic.Int64 }

func (u *userRelays) add(bytes int) { u.bytes.Add(int64(bytes)) }

// hasRoom reports whether another message may be kept. Jobs that ask at the same moment may exceed
// the bound by one message each.
func (u *userRelays) hasRoom(bytes int) bool { return u.bytes.Load()+int64(bytes) <= maxUserRelayBytes }

// relaysOfUsers holds the counts of all users that have had jobs here: a number each.
type relaysOfUsers struct {
	mu    sync.Mutex
	byUID map[uint32]*userRelays
}

func (r *relaysOfUsers) of(uid uint32) *userRelays {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byUID == nil {
		r.byUID = make(map[uint32]*userRelays)
	}
	if r.byUID[uid] == nil {
		r.byUID[uid] = &userRelays{}
	}
	return r.byUID[uid]
}
