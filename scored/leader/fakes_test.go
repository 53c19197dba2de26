package leader

import (
	"context"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"score/scored/state"
	"score/scored/state/statepb"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	ada   = &scorev1.Identity{Uid: 7, User: "ada"}
	owner = Caller{UID: 7}
	// operator is another user, who may do more.
	operator = Caller{UID: 9, Role: scorev1.Role_ROLE_OPERATOR}
)

// fakeReplica commits to a state in memory, with delays and errors as a test wants.
type fakeReplica struct {
	leadership chan replica.Leadership
	delay      time.Duration // virtual, of every commit

	mu      sync.Mutex
	state   *state.State
	entries []*statepb.Entry
	fail    error  // of the next commit
	leader  string // "": this one
	changed chan struct{}
}

func newFakeReplica(t fataler) *fakeReplica {
	r := &fakeReplica{leadership: make(chan replica.Leadership, 1), changed: make(chan struct{}), state: newWorld(t).log, delay: time.Millisecond}
	r.leadership <- replica.Leadership{Leader: true, Term: 1}
	return r
}

func (r *fakeReplica) Leadership() <-chan replica.Leadership { return r.leadership }

func (r *fakeReplica) Commit(entry *statepb.Entry) error {
	time.Sleep(r.delay)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fail; err != nil {
		r.fail = nil
		return err
	}
	r.entries = append(r.entries, entry)
	return r.state.Apply(entry)
}

func (r *fakeReplica) Read(f func(*state.State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.state)
}

// Verify implements Replica: this replica leads unless setLeader named another.
func (r *fakeReplica) Verify(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leader != "" {
		return replica.ErrNotLeader
	}
	return nil
}

func (r *fakeReplica) Name() string { return "s1" }

func (r *fakeReplica) Leader() (name, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leader != "" {
		return r.leader, "there"
	}
	return "s1", "here"
}

func (r *fakeReplica) LeaderChanged() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// setLeader makes another replica lead; "": this one.
func (r *fakeReplica) setLeader(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leader = name
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *fakeReplica) failNext(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
}

// log returns the committed commands, one entry per line.
func (r *fakeReplica) log() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, entry := range r.entries {
		line := ""
		for _, command := range entry.GetCommands() {
			line += commandText(command) + ";"
		}
		lines = append(lines, line)
	}
	return lines
}

// chanLink is an agent's end of a stream.
type chanLink struct {
	messages chan *agentpb.ServerMessage
	closed   chan string
}

func newChanLink() *chanLink {
	return &chanLink{messages: make(chan *agentpb.ServerMessage, 1000), closed: make(chan string, 2)}
}

func (l *chanLink) Send(m *agentpb.ServerMessage) { l.messages <- m }

func (l *chanLink) Close(reason string) { l.closed <- reason }

// until receives until a message with this text comes.
func (l *chanLink) until(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case m := <-l.messages:
			if messageText(m) == text {
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("the leader does not send %q", text)
		}
	}
}

// bench runs f with a leader in virtual time.
func bench(t *testing.T, f func(t *testing.T, l *Leader, r *fakeReplica)) {
	t.Helper()
	benchIn(t, func() *state.State { return newWorld(t).log }, f)
}

// benchIn is bench with an initial state.
func benchIn(t *testing.T, log func() *state.State, f func(t *testing.T, l *Leader, r *fakeReplica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newFakeReplica(t)
		r.state = log()
		l := New(Options{Replica: r, Cluster: "lab", Version: "v1"})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- l.Run(ctx) }()
		<-l.Leading()
		f(t, l, r)
		cancel()
		if err := <-over; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// join connects an agent with two CPUs.
func join(t *testing.T, l *Leader, name string) *chanLink {
	t.Helper()
	link := newChanLink()
	refusal, err := l.Connect(t.Context(), hello(name, 2), nil, link)
	if err != nil || refusal != "" {
		t.Fatalf("Connect: %q, %v", refusal, err)
	}
	synctest.Wait()
	return link
}

func deliver(t *testing.T, l *Leader, node string, link Link, messages ...*agentpb.AgentMessage) {
	t.Helper()
	for _, m := range messages {
		if err := l.Receive(t.Context(), node, link, m); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

func mustSubmit(t *testing.T, l *Leader, spec *scorev1.JobSpec) uint64 {
	t.Helper()
	id, err := l.Submit(t.Context(), spec, ada, owner)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
