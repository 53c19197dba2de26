package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

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
	switch rapid.IntRange(0, 26).Draw(t, "what") {
	case 0, 1, 2:
		s.drawSubmit(t)
	case 3:
		if rapid.Bool().Draw(t, "at once") {
			s.kill(id)
		} else {
			s.cancel(id)
		}
	case 25:
		if j := s.b.jobs[id]; j != nil {
			_ = s.b.hold(j, &scorev1.Hold{By: "ada", Operator: rapid.Bool().Draw(t, "operator")}) // may be refused
			s.settle()
		}
	case 26:
		if j := s.b.jobs[id]; j != nil {
			_ = s.b.release(j, rapid.SampledFrom([]Caller{owner, operator}).Draw(t, "caller"), "ada") // may be refused
			s.settle()
		}
	case 24:
		a.losePart(id)
	case 23:
		a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_TimeUp{TimeUp: &agentpb.TimeUp{JobId: id}}})
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
			a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Suspicion{Suspicion: &agentpb.Suspicion{
				Node: other.name, Found: agentpb.Reachability_REACHABILITY_UNREACHABLE,
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
			a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Spawn{Spawn: &agentpb.SpawnRequest{
				JobId: id, Request: a.requests, Apps: []*agentpb.SpawnApp{{Program: "child", Tasks: 2}},
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
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 0 {
		spec.ExcludeList = rapid.SliceOfN(rapid.SampledFrom([]string{"n1", "n2", "n3"}), 1, 2).Draw(t, "exclude")
	}
	spec.Hold = rapid.IntRange(0, 5).Draw(t, "hold") == 0
	if rapid.IntRange(0, 2).Draw(t, "depends") == 0 {
		for _, on := range rapid.SliceOfNDistinct(rapid.Uint64Range(1, s.b.nextJob), 1, 3, rapid.ID).Draw(t, "on") {
			kind := rapid.SampledFrom([]scorev1.DependencyKind{after, afterAny, afterOK, afterNotOK}).Draw(t, "kind")
			spec.Dependencies = append(spec.Dependencies, &scorev1.Dependency{Kind: kind, JobIds: []uint64{on}})
		}
	}
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

// checkWhole: a gang in the plan is prepared on all its nodes, and on none that it excludes. A job
// that has started is never queued again.
func (s *simulation) checkWhole() {
	for _, j := range s.b.jobs {
		if j.state == running && !j.inherited && !j.all(func(p *part) bool { return p.prepared }) {
			s.t.Fatalf("job %d runs and is not prepared everywhere\n%s", j.id, s.seen.String())
		}
		if len(j.namesOf(func(p *part) bool { return slices.Contains(j.spec.GetExcludeList(), p.Node) })) > 0 {
			s.t.Fatalf("job %d is on %v, without %v\n%s", j.id, j.parts, j.spec.GetExcludeList(), s.seen.String())
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
