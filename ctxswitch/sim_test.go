package ctxswitch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// How the simulated cluster is wrong.
const (
	simClockError = 40 * time.Microsecond // of each node's estimate of the leader's clock
	simWake       = 20 * time.Microsecond // at most, from a deadline to the agent's running
	simFreeze     = 60 * time.Microsecond // at most, until a job stands still
	simThaw       = 40 * time.Microsecond // at most
)

// simNode is a node with its own clock.
type simNode struct {
	m       *Machine
	rand    *rand.Rand
	offset  int64 // the true one
	answers []simAnswer
	running map[JobID]bool
	gone    map[simKey]int64 // true instant at which the row's jobs ran
}

// simKey names one appearance of a row in the whole cluster.
type simKey struct {
	version uint64
	start   int64
}

// simAnswer is an order that is being carried out.
type simAnswer struct {
	at int64 // local instant
	e  Effect
}

// TestGangsRunWhole runs nodes with skewed clocks through several plans: in the
// middle of every slice exactly the row's jobs run, on all nodes, and the
// instants at which they begin differ by no more than the errors put in.
func TestGangsRunWhole(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { simulate(t, seed) })
	}
}

func simulate(t *testing.T, seed uint64) {
	const nodes = 4
	start := int64(100 * time.Second)
	cluster := make([]*simNode, nodes)
	for i := range cluster {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		cluster[i] = &simNode{
			m: New(Config{}), rand: r, offset: r.Int64N(int64(90 * time.Second)),
			running: map[JobID]bool{}, gone: map[simKey]int64{},
		}
		for id := JobID(1); id <= 5; id++ {
			cluster[i].deliver(start, JobAdded(id, 0))
		}
	}
	r := rand.New(rand.NewPCG(seed, nodes))
	now := start
	for version := uint64(1); version <= 5; version++ {
		plan := simPlan(r, version, now+int64(5*time.Millisecond))
		for _, n := range cluster {
			n.learn(now)
			n.deliver(now, PlanArrived(&plan))
		}
		runPlan(t, cluster, &plan, now+int64(100*time.Millisecond))
		now += int64(100 * time.Millisecond)
	}
	checkSkew(t, cluster)
}

// simPlan makes a plan in which the gang of each row is on all nodes.
func simPlan(r *rand.Rand, version uint64, origin int64) Plan {
	p := Plan{Term: 1, Version: version, Origin: origin}
	for i := range 1 + r.IntN(4) {
		row := Row{Index: i, Slice: time.Duration(2+r.IntN(9)) * time.Millisecond}
		for id := JobID(1); id <= 5; id++ {
			if r.IntN(2) == 0 {
				row.Jobs = append(row.Jobs, id)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// runPlan runs the nodes to the end, looking into the middle of each slice.
func runPlan(t *testing.T, cluster []*simNode, plan *Plan, end int64) {
	for _, n := range cluster {
		n.runTo(plan.Origin)
	}
	for at := plan.Origin; ; {
		slot := plan.At(at)
		middle := (slot.Start + slot.End) / 2
		if middle >= end {
			break
		}
		for i, n := range cluster {
			n.runTo(middle)
			checkInvariants(t, n.m, n.local(middle))
			if got, want := n.jobs(), plan.Rows[slot.Pos].Jobs; !slices.Equal(got, want) {
				t.Fatalf("node %d, row %d, round %d: jobs %v run, want %v", i, slot.Row, slot.Round, got, want)
			}
		}
		at = slot.End
	}
	for _, n := range cluster {
		n.runTo(end)
		if missed := n.m.Count(CountMissedBoundaries); missed > 0 {
			t.Fatalf("%d boundaries were missed", missed)
		}
	}
}

// checkSkew compares when each row's jobs began to run on the nodes.
func checkSkew(t *testing.T, cluster []*simNode) {
	maxShift := 2*simClockError + simWake + simThaw // no waiting for the freeze
	compared := 0
	for key, first := range cluster[0].gone {
		low, high := first, first
		for _, n := range cluster[1:] {
			at, ok := n.gone[key]
			if !ok {
				t.Fatalf("row at %d of plan %d: switched on one node only", key.start, key.version)
			}
			low, high = min(low, at), max(high, at)
		}
		if skew := time.Duration(high - low); skew > maxShift {
			t.Errorf("row at %d of plan %d: the nodes are %v apart, errors explain %v", key.start, key.version, skew, maxShift)
		}
		compared++
	}
	if compared < 10 {
		t.Fatalf("only %d switches were compared", compared)
	}
}

func (n *simNode) local(true_ int64) int64 { return true_ - n.offset }

// learn gives the node a new estimate of its offset.
func (n *simNode) learn(now int64) {
	wrong := n.rand.Int64N(int64(2*simClockError)) - int64(simClockError)
	n.deliver(now, OffsetChanged(1, n.offset+wrong))
}

// runTo lets the node act until a true instant.
func (n *simNode) runTo(end int64) {
	for {
		at, i := n.m.Deadline(), -1
		if at != Never {
			at += n.rand.Int64N(int64(simWake))
		}
		for k, a := range n.answers {
			if a.at < at {
				at, i = a.at, k
			}
		}
		if at >= n.local(end) {
			return
		}
		if i < 0 {
			n.learn(at + n.offset)
			n.deliver(at+n.offset, Tick())
			continue
		}
		e := n.answers[i].e
		n.answers = slices.Delete(n.answers, i, i+1)
		if e.Kind == EffectFreeze {
			delete(n.running, e.Job)
		}
		n.deliver(at+n.offset, Done(e))
	}
}

// deliver passes an event to the machine at a true instant and begins what it orders.
func (n *simNode) deliver(now int64, ev Event) {
	for _, e := range n.m.Handle(n.local(now), ev) {
		switch e.Kind {
		case EffectFreeze:
			n.answers = append(n.answers, simAnswer{n.local(now) + 1 + n.rand.Int64N(int64(simFreeze)), e})
		case EffectThaw:
			n.running[e.Job] = true
			n.answers = append(n.answers, simAnswer{n.local(now) + 1 + n.rand.Int64N(int64(simThaw)), e})
		case EffectLaunch:
			n.running[e.Job] = true
		case EffectRecord:
			if e.Record.Cause == CauseBoundary && e.Record.Running != 0 {
				n.gone[simKey{e.Record.Version, e.Record.Slot.Start}] = e.Record.Running + n.offset
			}
		default:
		}
	}
}

// jobs returns the jobs that run, in order.
func (n *simNode) jobs() []JobID {
	var ids []JobID
	for id := range n.running {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
