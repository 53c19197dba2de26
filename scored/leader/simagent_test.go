package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"slices"
	"time"
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

	unsent []*agentpb.AgentMessage

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
	events       []*agentpb.AgentMessage // to be repeated until Forget
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
		case *agentpb.ServerMessage_Welcome:
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
		case *agentpb.ServerMessage_Prepare:
			a.prepare(m.Prepare)
		case *agentpb.ServerMessage_Plan:
			a.plan(m.Plan)
		case *agentpb.ServerMessage_Kill:
			a.kill(m.Kill.GetJobId())
		case *agentpb.ServerMessage_Signal:
			if m.Signal.GetEndsJob() {
				a.terminate(m.Signal.GetJobId(), m.Signal.GetSignal())
			}
		case *agentpb.ServerMessage_Forget:
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

func (a *simAgent) send(m *agentpb.AgentMessage) {
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
func (a *simAgent) report(p *simPart, m *agentpb.AgentMessage) {
	p.events = append(p.events, m)
	a.send(m)
}

func (a *simAgent) prepare(m *agentpb.Prepare) {
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

func (a *simAgent) plan(m *agentpb.Plan) {
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
			a.report(p, exits(&agentpb.RankExited{JobId: id, Rank: rank, Signal: 9, ByUs: true, AtNanos: a.sim.b.now}))
		}
	}
	p.done = true
	a.report(p, nodeDone(id))
}

// terminate ends a part by a signal, if it was launched: programs of jobs with odd numbers ignore
// it.
func (a *simAgent) terminate(id uint64, signal int32) {
	switch p := a.jobs[id]; {
	case p == nil:
	case !p.launched:
		a.kill(id)
	case id%2 == 0:
		a.finish(id, 0, signal)
	}
}

// losePart kills a job's steward. The first call reports that, and the second that no process is
// left.
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
		a.report(p, exits(&agentpb.RankExited{JobId: id, Rank: rank, ExitCode: code, Signal: signal, AtNanos: a.sim.b.now}))
	}
	a.report(p, nodeDone(id))
}
