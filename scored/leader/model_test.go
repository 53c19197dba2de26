package leader

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// simAgent behaves like an agent with its stewards: it keeps events until it is told to forget, and
// repeats them after every interruption.
type simAgent struct {
	sim        *simulation
	name       string
	boot       string
	cpus       uint32
	link       *fakeLink // nil: no stream
	cut        int64     // when it had the last one
	read       int       // how many messages of link it has handled
	jobs       map[uint64]*simPart
	holdInput  bool // messages to it are delayed
	holdOutput bool // messages from it are delayed
	bad        bool // it fails to prepare jobs
	// crash: it dies when it next starts a job, and the leader with it.
	crash bool

	unsent []*scorev1.AgentMessage

	requests uint64
	newest   [2]uint64 // term and version of the newest plan it has redactedFor
}

// simPart is an agent's part of a job.
type simPart struct {
	tasks        []uint32
	attempt      uint32
	lease        time.Duration // 0: none
	leaseExpired bool          // its ranks have ended with their lease
	prepared     bool
	launched     bool
	done         bool
	orphaned     bool                    // its steward is gone
	events       []*scorev1.AgentMessage // to be repeated until Forget
}

// simulation drives a world with agents that answer, and checks invariants.
type simulation struct {
	*world
	agents   []*simAgent
	launches map[string]int // by job and node, over all attempts
	owners   map[uint64]*Attachment
	// leaderless: the leader has died, and the next has not started.
	leaderless bool
}

func newSimulation(t fataler, nodes int, version uint32) *simulation {
	s := &simulation{world: newWorldIn(t, version), launches: make(map[string]int), owners: make(map[uint64]*Attachment)}
	for i := range nodes {
		a := &simAgent{sim: s, name: fmt.Sprint("n", i+1), boot: "boot", cpus: 2, jobs: make(map[uint64]*simPart)}
		s.agents = append(s.agents, a)
	}
	return s
}

func (a *simAgent) connect() {
	for _, p := range a.jobs {
		p.leaseExpired = p.leaseExpired || p.lease > 0 && a.sim.b.now >= a.cut+p.lease.Nanoseconds()
	}
	h := hello(a.name, a.cpus)
	h.BootId = a.boot
	for id := range a.jobs {
		h.Jobs = append(h.Jobs, id)
	}
	slices.Sort(h.Jobs)
	if a.sim.connect(h) != "" {
		return
	}
	a.link, a.read, a.unsent = a.sim.links[a.name], 0, nil
	a.handleMessages()
}

// handleMessages handles the leader's messages.
func (a *simAgent) handleMessages() {
	for a.link != nil && !a.holdInput && a.read < len(a.link.sent) {
		m := a.link.sent[a.read]
		a.read++
		switch m := m.GetMessage().(type) {
		case *scorev1.ServerMessage_Welcome:
			for id := range a.jobs {
				if !slices.Contains(m.Welcome.GetKeepJobs(), id) {
					delete(a.jobs, id)
				}
			}
			for _, id := range sortedKeys(a.jobs) {
				for _, event := range a.jobs[id].events {
					a.send(event)
				}
			}
		case *scorev1.ServerMessage_Prepare:
			a.prepare(m.Prepare)
		case *scorev1.ServerMessage_Plan:
			a.plan(m.Plan)
		case *scorev1.ServerMessage_Kill:
			a.kill(m.Kill.GetJobId())
		case *scorev1.ServerMessage_Signal:
			if m.Signal.GetEndsJob() && m.Signal.GetJobId()%2 == 0 { // programs of the others ignore it
				a.finish(m.Signal.GetJobId(), 0, m.Signal.GetSignal())
			}
		case *scorev1.ServerMessage_Forget:
			delete(a.jobs, m.Forget.GetJobId())
		}
	}
}

func sortedKeys(jobs map[uint64]*simPart) []uint64 {
	var ids []uint64
	for id := range jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (a *simAgent) send(m *scorev1.AgentMessage) {
	switch {
	case a.link == nil || a.link.closed:
	case a.holdOutput:
		a.unsent = append(a.unsent, m)
	default:
		a.sim.receive(a.name, m)
	}
}

// flush sends delayed messages.
func (a *simAgent) flush() {
	if a.holdOutput {
		return
	}
	for len(a.unsent) > 0 {
		m := a.unsent[0]
		a.unsent = a.unsent[1:]
		a.send(m)
	}
}

// report sends an event and keeps it.
func (a *simAgent) report(p *simPart, m *scorev1.AgentMessage) {
	p.events = append(p.events, m)
	a.send(m)
}

func (a *simAgent) prepare(m *scorev1.Prepare) {
	p := a.jobs[m.GetJobId()]
	if p == nil {
		p = &simPart{tasks: mapOf(m.GetMap())[m.GetNodeIndex()].GetRanks(), attempt: m.GetAttempt(), lease: time.Duration(m.GetLeaseNanos())}
		a.jobs[m.GetJobId()] = p
	}
	if !p.prepared && !p.done {
		p.prepared = !a.bad
		answer := prepared(m.GetJobId())
		if a.bad {
			answer = unprepared(m.GetJobId(), 127, "no such program")
		}
		a.report(p, answer)
		return
	}
	for _, event := range p.events {
		a.send(event)
	}
}

func (a *simAgent) plan(m *scorev1.Plan) {
	// Real agents would not obey it.
	if id := [2]uint64{m.GetTerm(), m.GetVersion()}; slices.Compare(id[:], a.newest[:]) < 0 {
		a.sim.t.Fatalf("%s gets plan %v after %v\n%s", a.name, id, a.newest, a.sim.seen.String())
	} else {
		a.newest = id
	}
	for _, row := range m.GetRows() {
		for _, id := range row.GetJobs() {
			if p := a.jobs[id]; p != nil && p.prepared && !p.launched && !p.done && !p.orphaned {
				p.launched = true
				key := fmt.Sprintf("%d, attempt %d on %s", id, p.attempt, a.name)
				a.sim.aloneWith(id, p.attempt)
				a.sim.launches[key]++
				if a.sim.launches[key] > 1 {
					a.sim.t.Fatalf("job %s was run twice\n%s", key, a.sim.seen.String())
				}
				if a.crash {
					a.crashWithLeader()
					return
				}
				a.report(p, launched(id, a.sim.b.now))
			}
		}
	}
}

// aloneWith fails if ranks of another attempt of a job may live.
func (s *simulation) aloneWith(id uint64, attempt uint32) {
	for _, a := range s.agents {
		p := a.jobs[id]
		if p == nil || !p.launched || p.done || p.leaseExpired || p.attempt == attempt {
			continue
		}
		if a.link != nil || p.lease == 0 || s.b.now < a.cut+p.lease.Nanoseconds() {
			s.t.Fatalf("attempts %d and %d of job %d run at the same time\n%s", p.attempt, attempt, id, s.seen.String())
		}
	}
}

// crashWithLeader kills the node and the leader before the leader knows that the job was started.
func (a *simAgent) crashWithLeader() {
	a.crash, a.sim.leaderless = false, true
	a.die()
}

// die kills the agent and all its stewards.
func (a *simAgent) die() {
	if a.link != nil {
		a.link.closed = true
	}
	a.link, a.cut, a.jobs = nil, a.sim.b.now, make(map[uint64]*simPart)
	a.boot += "'"
}

func (a *simAgent) kill(id uint64) {
	p := a.jobs[id]
	if p == nil || p.done {
		a.send(nodeDone(id)) // a killed job reports when nothing is left
		return
	}
	if p.launched && !p.orphaned {
		for _, rank := range p.tasks {
			a.report(p, exits(&scorev1.RankExited{JobId: id, Rank: rank, Signal: 9, ByUs: true, AtNanos: a.sim.b.now}))
		}
	}
	p.done = true
	a.report(p, nodeDone(id))
}

// losePart kills a job's steward. The first call reports that, and the second that no process is left.
func (a *simAgent) losePart(id uint64) {
	p := a.jobs[id]
	switch {
	case p == nil || p.done:
	case !p.orphaned:
		p.orphaned = true
		a.report(p, partLost(id, "its steward ended"))
	default:
		p.done = true
		a.report(p, nodeDone(id))
	}
}

// finish makes a part's ranks exit by themselves.
func (a *simAgent) finish(id uint64, code, signal int32) {
	p := a.jobs[id]
	if p == nil || !p.launched || p.done || p.orphaned {
		return
	}
	p.done = true
	for _, rank := range p.tasks {
		a.report(p, exits(&scorev1.RankExited{JobId: id, Rank: rank, ExitCode: code, Signal: signal, AtNanos: a.sim.b.now}))
	}
	a.report(p, nodeDone(id))
}

// quiesce makes all agents handle all messages.
func (s *simulation) quiesce() {
	for {
		before := s.seen.Len()
		if s.leaderless {
			s.changeLeader()
		}
		for _, a := range s.agents {
			if a.link != nil && a.link.closed {
				a.link, a.cut = nil, a.link.cut
			}
			a.handleMessages()
			a.flush()
		}
		if s.seen.Len() == before {
			return
		}
	}
}

func (s *simulation) changeLeader() {
	s.leaderless = false
	for _, a := range s.agents {
		s.drop(a)
	}
	s.owners = make(map[uint64]*Attachment)
	s.restart()
}

func (s *simulation) draw(t *rapid.T) {
	a := rapid.SampledFrom(s.agents).Draw(t, "agent")
	id := rapid.Uint64Range(1, max(s.b.nextJob, 2)-1).Draw(t, "job")
	switch rapid.IntRange(0, 24).Draw(t, "what") {
	case 0, 1, 2:
		s.drawSubmit(t)
	case 3:
		if rapid.Bool().Draw(t, "at once") {
			s.kill(id)
		} else {
			s.cancel(id)
		}
	case 24:
		a.losePart(id)
	case 23:
		a.send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_TimeUp{TimeUp: &scorev1.TimeUp{JobId: id}}})
	case 4, 5, 6:
		a.finish(id, rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "code"), rapid.SampledFrom([]int32{0, 0, 11}).Draw(t, "signal"))
	case 7:
		s.drop(a)
	case 8, 9:
		if a.link == nil {
			a.connect()
		}
	case 10: // the agent and all its stewards die
		s.drop(a)
		a.die()
	case 11:
		s.advance(time.Duration(rapid.SampledFrom([]int{0, 1, 5, 11, 35}).Draw(t, "seconds")) * time.Second)
	case 12:
		s.leaderless = true
	case 13:
		s.attachOrDetach(id)
	case 14:
		a.holdInput = !a.holdInput
	case 15:
		a.bad = !a.bad
	case 18:
		a.crash = true
	case 19: // the disk is slow: the next decisions are one batch
		s.busy, s.maxCommands = !s.busy, rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "commands")
		s.settle()
	case 20:
		s.failing = rapid.SampledFrom([]failing{entryLost, outcomeUnknown}).Draw(t, "failing")
	case 21: // its neighbours cannot reach the node either
		for _, other := range s.agents {
			a.send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Suspicion{Suspicion: &scorev1.Suspicion{
				Node: other.name, Found: scorev1.Reachability_REACHABILITY_UNREACHABLE,
			}}})
		}
	case 17:
		a.holdOutput = !a.holdOutput
	case 22:
		if j := s.b.jobs[id]; j != nil {
			_ = s.b.requeueFor(j, "ada", "") // may be refused
			s.settle()
		}
	case 16:
		if p := a.jobs[id]; p != nil && p.launched && !p.done {
			a.requests++
			a.send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Spawn{Spawn: &scorev1.SpawnRequest{
				JobId: id, Request: a.requests, Apps: []*scorev1.SpawnApp{{Program: "child", Tasks: 2}},
			}}})
		}
	}
	s.quiesce()
}

func (s *simulation) drawSubmit(t *rapid.T) {
	spec := jobSpec(rapid.Uint32Range(1, 6).Draw(t, "tasks"))
	spec.Exclusive = rapid.IntRange(0, 4).Draw(t, "exclusive") == 0
	spec.Detached = rapid.Bool().Draw(t, "detached")
	spec.Requeue = rapid.Bool().Draw(t, "requeue")
	for range rapid.IntRange(1, 3).Draw(t, "jobs") {
		_, _ = s.submit(spec) // may be refused, or lost
	}
}

func (s *simulation) drop(a *simAgent) {
	if a.link == nil {
		return
	}
	link := a.link
	a.link, a.cut, link.closed = nil, s.b.now, true
	s.b.onLinkLost(a.name, link)
	s.settle()
}

func (s *simulation) attachOrDetach(id uint64) {
	j := s.b.jobs[id]
	if w := s.owners[id]; w != nil {
		delete(s.owners, id)
		s.b.detach(id, w)
		s.settle()
		return
	}
	if j == nil || j.reading() {
		return
	}
	s.owners[id] = s.attach(id, AttachOptions{Owner: true, Output: true})
}

// settleAll connects all agents, ends jobs that do not end by themselves, and waits long enough.
func (s *simulation) settleAll() {
	s.busy, s.failing = false, committing
	s.settle()
	for range 3 {
		for _, a := range s.agents {
			a.holdInput, a.holdOutput, a.crash = false, false, false
			if a.link == nil {
				a.connect()
			}
		}
		s.quiesce()
		for _, j := range s.b.sortedJobs() {
			if j.active() || j.state == queued {
				s.kill(j.id)
			}
		}
		s.quiesce()
		for id, w := range s.owners {
			delete(s.owners, id)
			s.b.detach(id, w)
		}
		s.settle()
		s.quiesce()
		s.advance(OwnerGrace)
		s.quiesce()
	}
}

// Whatever happens to agents, leaders and clients: the entries fit the state, no job runs twice on
// a node, and in the end nothing is left.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSimulation(t, rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.Uint32Range(protocol.First, protocol.Own().Newest).Draw(t, "protocol"))
		for _, a := range s.agents {
			a.connect()
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			s.draw(t)
			s.checkWhole()
		}
		s.settleAll()
		s.checkNothingLeft()
	})
}

// checkWhole: a gang in the plan is prepared on all its nodes, and a job that has started is never
// queued again.
func (s *simulation) checkWhole() {
	for _, j := range s.b.jobs {
		if j.state == running && !j.inherited && !j.all(func(p *part) bool { return p.prepared }) {
			s.t.Fatalf("job %d runs and is not prepared everywhere\n%s", j.id, s.seen.String())
		}
		if j.state == queued && j.started != 0 {
			s.t.Fatalf("job %d has run and is queued\n%s", j.id, s.seen.String())
		}
	}
}

func (s *simulation) checkNothingLeft() {
	for id, j := range s.b.jobs {
		s.t.Fatalf("job %d is left in %v, forgotten %v, watchers %d\n%s", id, j.state, j.forgotten, len(j.watchers), s.seen.String())
	}
	for _, a := range s.agents {
		if len(a.jobs) > 0 {
			s.t.Fatalf("%s still holds %v\n%s", a.name, sortedKeys(a.jobs), s.seen.String())
		}
	}
	if s.b.gang.Running()+s.b.gang.Waiting() > 0 {
		s.t.Fatalf("the matrix holds %d running and %d waiting jobs", s.b.gang.Running(), s.b.gang.Waiting())
	}
	if len(s.b.rotation.Rows) > 0 {
		s.t.Fatalf("the plan has %d rows", len(s.b.rotation.Rows))
	}
}

// Equal inputs give equal decisions.
func TestDeterminism(t *testing.T) {
	script := func() string {
		s := newSimulation(t, 3, protocol.Own().Newest)
		for _, a := range s.agents {
			a.connect()
		}
		for i := range 30 {
			spec := jobSpec(uint32(1 + i%5))
			if _, err := s.submit(spec); err != nil {
				t.Fatal(err)
			}
			s.quiesce()
			s.agents[i%3].finish(uint64(i/2+1), int32(i%4), 0)
			s.quiesce()
			if i%7 == 0 {
				s.drop(s.agents[i%3])
				s.advance(time.Duration(i) * time.Second)
				s.agents[i%3].connect()
			}
			s.quiesce()
		}
		return s.seen.String()
	}
	first := script()
	if !strings.Contains(first, "Allocate") {
		t.Fatal("nothing was decided")
	}
	for range 5 {
		if again := script(); again != first {
			t.Fatalf("another outcome:\n%s\nfirst it was:\n%s", again, first)
		}
	}
}
