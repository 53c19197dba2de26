package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"time"
)

// fakeLink is an agent's end of a stream.
type fakeLink struct {
	world  *world
	node   string
	closed bool
	cut    int64 // when it was closed
	sent   []*agentpb.ServerMessage
}

func (l *fakeLink) Send(m *agentpb.ServerMessage) {
	if l.closed {
		return
	}
	l.sent = append(l.sent, m)
	l.world.note("%s: %s", l.node, messageText(m))
}

func (l *fakeLink) Close(reason string) {
	l.closed, l.cut = true, l.world.b.now
	l.world.note("%s: closed %s", l.node, reason)
}

func hello(node string, cpus uint32, jobs ...uint64) *agentpb.Hello {
	return &agentpb.Hello{
		Cluster: "lab", Node: node, Address: node + ":1", Version: "v1", Cpus: cpus, MemoryBytes: 1 << 30,
		BootId: "boot1", Jobs: jobs,
	}
}

// connect connects an agent.
func (w *world) connect(h *agentpb.Hello) (refusal string) {
	w.t.Helper()
	link := &fakeLink{world: w, node: h.GetNode()}
	refusal = w.b.onHello(h, link)
	if refusal == "" {
		w.links[h.GetNode()] = link
	}
	w.settle()
	return refusal
}

// receive delivers an agent's message.
func (w *world) receive(node string, m *agentpb.AgentMessage) {
	w.t.Helper()
	w.b.onMessage(node, w.links[node], m)
	w.settle()
}

// advance advances the time, deadline by deadline, with heartbeats from the agents.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	till := w.b.now + d.Nanoseconds()
	for {
		next := w.b.timers.deadline()
		if next == 0 || next > till {
			break
		}
		w.b.now = max(next, w.b.now)
		w.settle()
	}
	w.b.now = till
	for _, n := range w.b.nodes {
		n.lastMessage = till
	}
	w.settle()
}

func (w *world) submit(spec *scorev1.JobSpec) (uint64, error) {
	w.t.Helper()
	var id uint64
	var err error
	answered := false
	w.b.submit(spec, &scorev1.Identity{Uid: 7, User: "ada"}, owner, func(i uint64, e error) { id, err, answered = i, e, true })
	w.settle()
	if !answered && !w.busy {
		w.t.Fatalf("Submit was not answered")
	}
	return id, err
}

func jobSpec(tasks uint32) *scorev1.JobSpec {
	return &scorev1.JobSpec{Argv: []string{"a.out"}, Env: []string{"HOME=/"}, WorkDir: "/", Tasks: tasks, Detached: true, StdoutPattern: "o"}
}

func (w *world) attach(id uint64, options AttachOptions) *Attachment {
	w.t.Helper()
	a := newAttachment(nil, id, options)
	if err := w.b.attach(w.b.jobs[id], a); err != nil {
		w.t.Fatalf("attach: %v", err)
	}
	w.settle()
	return a
}

// cancel ends a job as 'scored job cancel' does.
func (w *world) cancel(id uint64) { w.end(id, w.b.terminate) }

// kill ends a job as ^C twice in its scrun does.
func (w *world) kill(id uint64) { w.end(id, w.b.killNow) }

func (w *world) end(id uint64, how func(*job, *scorev1.Verdict)) {
	w.t.Helper()
	if w.b.jobs[id] == nil {
		w.note("there is no job %d", id)
		return
	}
	how(w.b.jobs[id], verdict(cancelled, exitEnded, "the job was cancelled by ada"))
	w.settle()
}

// Messages of agents.

func prepared(id uint64) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id}}}
}

func unprepared(id uint64, code int32, text string) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id, ExitCode: code, Error: text}}}
}

func launched(id uint64, at int64) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: id, AtNanos: at}}}
}

func exits(exit *agentpb.RankExited) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankExited{RankExited: exit}}
}

func nodeDone(id uint64) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{
		JobId: id, Usage: &scorev1.Usage{CpuNanos: 3, RunNanos: 5, Slices: 1, MaxRssBytes: 9},
	}}}
}
