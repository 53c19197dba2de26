package steward_test

import (
	"fmt"
	"os"
	"score/nodeagent/steward/direct"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"testing"
	"time"
)

// relayPair is the agents of two nodes, as far as they forward messages.
type relayPair struct {
	t      testing.TB
	agents [2]*agent
	passed [2]int // of what each has heard
	// messages counts those that were carried, acknowledgements not.
	messages int
	// holds, if it is not nil, tells which are to be kept back; held are those.
	holds func(from int, r *stewardpb.Relay) bool
	held  []heldRelay
}

type heldRelay struct {
	from  int
	relay *stewardpb.Relay
}

// startRelayPair runs one rank on a node and one on another; the places of the two are on loopback.
func startRelayPair(t testing.TB, script string, changes ...change) *relayPair {
	t.Helper()
	p := &relayPair{t: t}
	for i := range p.agents {
		p.agents[i] = start(t)
		p.agents[i].ready(p.agents[i].order(1, speaking(script), append([]change{onNodeOfTwo(i)}, changes...)...))
	}
	for _, a := range p.agents {
		a.do(a.conn.Launch())
	}
	return p
}

// onNodeOfTwo makes the order that of a node of two whose stewards exchange by themselves.
func onNodeOfTwo(node int) change {
	return func(p *stewardpb.PrepareJob) {
		p.Job.Places = []*scorev1.NodePlace{
			{Node: "n1", Address: "127.0.0.1:1", Ranks: []uint32{0}}, {Node: "n2", Address: "127.0.0.1:2", Ranks: []uint32{1}},
		}
		p.Job.Spec.Tasks, p.Job.NodeIndex, p.Node = 2, uint32(node), fmt.Sprintf("n%d", node+1)
		p.Job.FencesByMessage = true
	}
}

func withKey(p *stewardpb.PrepareJob) { p.DirectKey = testKey(p.Job.JobId) }

// testKey is of this run of the tests: another one on this host is another cluster.
func testKey(job uint64) []byte {
	return direct.JobKey("secret", fmt.Sprintf("lab-%d", os.Getpid()), job, 1)
}

// forwardNew forwards what the stewards have given to their agents since the last call.
func (p *relayPair) forwardNew() {
	for i, a := range p.agents {
		heard := a.all()
		for ; p.passed[i] < len(heard); p.passed[i]++ {
			if r := heard[p.passed[i]].GetRelay(); r != nil {
				if p.holds != nil && p.holds(i, r) {
					p.held = append(p.held, heldRelay{i, r})
					continue
				}
				p.forward(i, r)
			}
		}
	}
}

func (p *relayPair) forward(from int, r *stewardpb.Relay) {
	if r.GetHeader().GetNumber() > 0 {
		p.messages++
	}
	to := p.agents[1-from]
	to.do(to.conn.Relay(&stewardpb.Relay{JobId: testJob, NodeIndex: uint32(from), Data: r.GetData(), Header: r.GetHeader()}))
}

// until forwards messages until something is so.
func (p *relayPair) until(what string, so func() bool) {
	p.t.Helper()
	p.wait(what, so, nil)
}

// untilClosed forwards messages until a channel is closed.
func (p *relayPair) untilClosed(what string, over <-chan struct{}) {
	p.t.Helper()
	p.wait(what, func() bool { return false }, over)
}

func (p *relayPair) wait(what string, so func() bool, over <-chan struct{}) {
	p.t.Helper()
	for limit := time.After(timeout); ; {
		p.forwardNew()
		if so() {
			return
		}
		select {
		case <-over:
			return
		case <-p.agents[0].arrived:
		case <-p.agents[1].arrived:
		case <-limit:
			p.t.Fatalf("waited in vain for %s; heard %v and %v", what, p.agents[0].all(), p.agents[1].all())
		}
	}
}

// has reports whether an agent has heard something.
func has[T any](a *agent, pick func(*stewardpb.FromSteward) *T) bool { return last(a, pick) != nil }

// last is what an agent has heard last of something.
func last[T any](a *agent, pick func(*stewardpb.FromSteward) *T) (found *T) {
	for _, m := range a.all() {
		if v := pick(m); v != nil {
			found = v
		}
	}
	return found
}

// end waits for the end of the job on both nodes.
func (p *relayPair) end() {
	p.t.Helper()
	p.until("the end", func() bool {
		return has(p.agents[0], (*stewardpb.FromSteward).GetNodeDone) && has(p.agents[1], (*stewardpb.FromSteward).GetNodeDone)
	})
	for i, a := range p.agents {
		for rank, e := range a.exits() {
			if e.GetExitCode() != 0 || e.GetSignal() != 0 {
				p.t.Errorf("node %d, rank %d: %v", i, rank, e)
			}
		}
	}
}
