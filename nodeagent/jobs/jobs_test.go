package jobs

import (
	"errors"
	"path/filepath"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobdirs"
	"score/nodeagent/jobstate"
	"score/nodeagent/metrics"
	"score/nodeagent/peers"
	"score/nodeagent/staging"
	"score/nodeagent/switcher"
	"score/nodeagent/timekeeper"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// testNode has jobs without stewards, and takes what the leader is sent.
type testNode struct {
	*Jobs
	cache   *staging.Cache
	sent    []*agentpb.AgentMessage
	workers []func() // what Go was called with
}

func newNode(t *testing.T) *testNode {
	t.Helper()
	dir := t.TempDir()
	cache, err := staging.Open(filepath.Join(dir, "cache"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	others := peers.New(pkitest.FromKey(t, "key", "lab", pki.Agent, "n1"), true)
	t.Cleanup(others.Close)
	n := &testNode{cache: cache}
	n.Jobs = New(Options{
		Node:    Node{Name: "n1", Address: "127.0.0.1:2", BootID: "b", CPUs: []uint32{0, 1}},
		Leader:  n,
		Peers:   others,
		Files:   filetransfer.New(filetransfer.Options{Node: "n1", Cache: cache, Peers: others, Logger: zap.NewNop()}),
		Dirs:    jobdirs.New(jobdirs.Options{JobsDir: filepath.Join(dir, "jobs"), RunDir: filepath.Join(dir, "run"), Logger: zap.NewNop()}),
		Clock:   timekeeper.New(zap.NewNop(), func(uint64, int64) {}),
		Metrics: metrics.New("n1", func() metrics.Gauges { return metrics.Gauges{} }),
		Logger:  zap.NewNop(),
		Go:      func(f func()) { n.workers = append(n.workers, f) },
		Running: t.Context(),
		Forced:  t.Context(),
	})
	return n
}

// Send and Connected implement outbox.Leader.
func (n *testNode) Send(m *agentpb.AgentMessage) { n.sent = append(n.sent, m) }
func (n *testNode) Connected() bool              { return true }

// messages takes what the leader was sent.
func (n *testNode) messages() (sent []*agentpb.AgentMessage) {
	sent, n.sent = n.sent, nil
	return sent
}

// isDone reports whether the leader was sent that nothing is left of a job, and nothing else.
func (n *testNode) isDone(id uint64) bool {
	sent := n.messages()
	return len(sent) == 1 && sent[0].GetNodeDone().GetJobId() == id
}

// order is for one rank here, and one at n2.
func order(id uint64) *agentpb.Prepare {
	return &agentpb.Prepare{
		JobId: id, Spec: &scorev1.JobSpec{Argv: []string{"true"}},
		Places: []*scorev1.NodePlace{
			{Node: "n1", Address: "127.0.0.1:2", Ranks: []uint32{0}, Cpus: []uint32{1}},
			{Node: "n2", Address: "127.0.0.1:3", Ranks: []uint32{1}, Cpus: []uint32{1}},
		},
	}
}

// add has a job here that has no steward yet.
func (n *testNode) add(order *agentpb.Prepare) *Job {
	j := n.newJob(order)
	n.table.Add(j)
	return j
}

func TestOrdersThatAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*agentpb.Prepare)
		says   string
	}{
		{"no place", func(p *agentpb.Prepare) { p.NodeIndex = 2 }, "no place"},
		{"other node", func(p *agentpb.Prepare) { p.NodeIndex = 1 }, "node n2"},
		{"no rank", func(p *agentpb.Prepare) { p.Places[0].Ranks = nil }, "no rank"},
		{"too many ranks", func(p *agentpb.Prepare) { p.Places[0].Ranks = make([]uint32, api.MaxRanksPerNode+1) }, "4096"},
		{"no program", func(p *agentpb.Prepare) { p.Spec.Argv = nil }, "no program"},
		{"CPU beyond", func(p *agentpb.Prepare) { p.Places[0].Cpus = []uint32{2} }, "CPU 2, and the node has 2"},
	}
	for _, test := range tests {
		n := newNode(t)
		p := order(7)
		test.change(p)
		n.Prepare(p)
		sent := n.messages()
		if len(sent) != 1 || n.Count() != 0 {
			t.Fatalf("%s: sent %v, %d jobs", test.name, sent, n.Count())
		}
		if m := sent[0].GetPrepared(); m.GetJobId() != 7 || m.GetExitCode() != 125 ||
			!strings.HasPrefix(m.GetError(), "node n1: ") || !strings.Contains(m.GetError(), test.says) {
			t.Errorf("%s: %v", test.name, m)
		}
		n.Kill(&agentpb.Kill{JobId: 7}) // the leader may ask for its end
		if !n.isDone(7) {
			t.Errorf("%s: its end is not reported", test.name)
		}
	}
	n := newNode(t)
	n.Prepare(order(0))
	if sent := n.messages(); len(sent) != 1 || !strings.Contains(sent[0].GetPrepared().GetError(), "no job") {
		t.Errorf("job 0: %v", sent)
	}
}

// Nothing is left of a job that is not here, unless a former part of it is being ended.
func TestKillOfAJobThatIsNotHere(t *testing.T) {
	n := newNode(t)
	over := make(chan struct{})
	n.endings.Add(7, 1000, over)
	n.Kill(&agentpb.Kill{JobId: 8})
	if !n.isDone(8) {
		t.Error("job 8 was never here")
	}
	n.Kill(&agentpb.Kill{JobId: 7})
	if sent := n.messages(); sent != nil || len(n.workers) != 1 {
		t.Fatalf("while it is being ended: %v", sent)
	}
	close(over)
	n.workers[0]()
	if !n.isDone(7) {
		t.Error("job 7 is over")
	}
}

// A message to a spawned job may overtake the order that brings the job; one to a job that is over
// comes back.
func TestRelayOvertakesTheJob(t *testing.T) {
	n := newNode(t)
	request := &agentpb.RelayRequest{JobId: 7}
	if err := n.relay(t.Context(), request); err == nil || errors.Is(err, peers.ErrNoPart) {
		t.Errorf("before the job: %v", err)
	}
	n.add(order(7))
	if err := n.relay(t.Context(), request); err == nil || errors.Is(err, peers.ErrNoPart) {
		t.Errorf("before its steward: %v", err)
	}
	request.FromJob = 7
	if err := n.relay(t.Context(), request); err == nil || !strings.Contains(err.Error(), "is not the agent of part") {
		t.Errorf("nobody has called: %v", err)
	}
	n.table.Forget(7)
	if err := n.relay(t.Context(), request); !errors.Is(err, peers.ErrNoPart) {
		t.Errorf("after it: %v", err)
	}
}

// What a rank has asked is asked again on a new stream until the leader has replied.
func TestReplies(t *testing.T) {
	requests := []*agentpb.AgentMessage{
		{Message: &agentpb.AgentMessage_Name{Name: &agentpb.NameRequest{JobId: 7, Request: 1}}},
		{Message: &agentpb.AgentMessage_Spawn{Spawn: &agentpb.SpawnRequest{JobId: 7, Request: 1}}},
		{Message: &agentpb.AgentMessage_Places{Places: &agentpb.PlacesRequest{JobId: 7, Request: 1}}},
	}
	tests := []struct {
		name  string
		reply func(n *testNode)
		left  []*agentpb.AgentMessage
	}{
		{"name", func(n *testNode) { n.NameReply(&agentpb.NameReply{JobId: 7, Request: 1}) }, requests[1:]},
		{"spawn", func(n *testNode) { n.SpawnReply(&agentpb.SpawnReply{JobId: 7, Request: 1}) }, []*agentpb.AgentMessage{requests[0], requests[2]}},
		{"places", func(n *testNode) { n.PlacesReply(&agentpb.PlacesReply{JobId: 7, Request: 1}) }, requests[:2]},
		{"another request", func(n *testNode) { n.NameReply(&agentpb.NameReply{JobId: 7, Request: 2}) }, requests},
		{"another job", func(n *testNode) { n.NameReply(&agentpb.NameReply{JobId: 8, Request: 1}) }, requests},
	}
	for _, test := range tests {
		n := newNode(t)
		j := n.add(order(7))
		for _, m := range requests {
			j.outbox.Keep(m)
		}
		n.messages()
		test.reply(n)
		n.Repeat()
		if got := n.messages(); !slices.Equal(got, test.left) {
			t.Errorf("%s: asked again: %v", test.name, got)
		}
	}
}

// Orders about jobs that are not here, or have no steward, do nothing.
func TestOrdersWithoutASteward(t *testing.T) {
	n := newNode(t)
	n.add(order(7))
	for _, id := range []uint64{7, 8} {
		n.Signal(&agentpb.SignalRanks{JobId: id, Signal: 15})
		n.ChildEnded(&agentpb.ChildEnded{JobId: id})
		n.AskRankStates(&agentpb.AskRankStates{JobId: id})
		n.AskChannels(&agentpb.AskChannels{JobIds: []uint64{id}, Request: 3})
		n.workers[len(n.workers)-1]()
		if sent := n.messages(); len(sent) != 1 || sent[0].GetChannels().GetRequest() != 3 || len(sent[0].GetChannels().GetChannels()) > 0 {
			t.Errorf("channels of job %d: %v", id, sent)
		}
	}
	n.RenewLeases(1)
	if usage := n.Usage(8, switcher.Usage{Ran: 5}); usage.GetRunNanos() != 5 || usage.GetFences() != nil {
		t.Errorf("usage: %v", usage)
	}
}

func TestLeases(t *testing.T) {
	n := newNode(t)
	p := order(7)
	j := n.add(p)
	if got := j.leaseUntil(); got != 0 {
		t.Errorf("without a lease: %d", got)
	}
	p.LeaseNanos = 10
	if got := j.leaseUntil(); got <= 10 {
		t.Errorf("before a heartbeat was answered: %d", got)
	}
	n.RenewLeases(100)
	if got := j.leaseUntil(); got != 110 {
		t.Errorf("after one: %d", got)
	}
}

func TestHowARankEnded(t *testing.T) {
	for want, all := range map[metrics.ID][]*agentpb.RankExited{
		metrics.ExitsClean:  {{}},
		metrics.ExitsCode:   {{ExitCode: 1}},
		metrics.ExitsSignal: {{Signal: 11}, {Signal: 11, ExitCode: 1}},
		metrics.ExitsMemory: {{Signal: 9, OutOfMemory: true}},
		metrics.ExitsKilled: {{Signal: 9, ByUs: true}, {OutOfMemory: true, ByUs: true}},
	} {
		for _, m := range all {
			if got := exitKind(m); got != want {
				t.Errorf("%v: %v, want %v", m, got, want)
			}
		}
	}
}

// The end of a job that is killed before it has a steward is reported, and again at the next kill.
func TestKillBeforeTheSteward(t *testing.T) {
	n := newNode(t)
	j := n.add(order(7))
	n.Kill(&agentpb.Kill{JobId: 7})
	if !j.isKilled() || n.messages() != nil {
		t.Error("it is not killed, or over at once")
	}
	j.state.Step(time.Now(), jobstate.Settled)
	j.state.Step(time.Now(), jobstate.Stopped)
	j.done = &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{JobId: 7}}}
	j.step(jobstate.Cleared)
	if !n.isDone(7) || !j.IsOver() {
		t.Error("its end is not reported")
	}
	n.Kill(&agentpb.Kill{JobId: 7})
	if !n.isDone(7) {
		t.Error("its end is not reported again")
	}
}

// A signal that ends a job reaches it before its steward has it: the job is killed. Another one
// does nothing.
func TestSignalBeforeTheSteward(t *testing.T) {
	n := newNode(t)
	j := n.add(order(7))
	if n.Signal(&agentpb.SignalRanks{JobId: 7, Signal: 15}); j.isKilled() {
		t.Error("a signal that does not end the job has killed it")
	}
	j.state.Step(time.Now(), jobstate.Claimed)
	if n.Signal(&agentpb.SignalRanks{JobId: 7, Signal: 15, EndsJob: true}); !j.isKilled() {
		t.Error("it would run")
	}
}

// The first node's steward writes why a detached job did not start: the job gets one though it was
// killed and forgotten before.
func TestKillBeforeTheStewardThatExplains(t *testing.T) {
	n := newNode(t)
	p := order(7)
	p.Spec.Detached = true
	j := n.add(p)
	n.Kill(&agentpb.Kill{JobId: 7, Reason: "node n2: there is no program"})
	n.Kill(&agentpb.Kill{JobId: 7, Reason: "another"})
	j.step(jobstate.Claimed)
	if j.isEnding() || j.reason != "node n2: there is no program" {
		t.Error("it ends without an explanation:", j.state.Phase(), j.reason)
	}
}
