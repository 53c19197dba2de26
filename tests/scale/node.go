package scale

import (
	"math/rand/v2"
	"score/ctxswitch"
	"score/nodeagent/clock"
	"slices"
	"time"
)

const (
	// quickPings and the two pauses are the agents' own.
	quickPings     = 5
	quickPingEvery = 10 * time.Millisecond
	pingEvery      = 500 * time.Millisecond
	// driftPPM bounds the error of a node's crystal, to either side: half of what the filter allows
	// for two of them.
	driftPPM = clock.MaxDriftPPM / 2
	// maxUptime is how long before the others a node was switched on at most.
	maxUptime = 90 * time.Second
)

// node is one of the cluster: real switch, real clock filter, and a clock of its own. Instants are
// the leader's, unless they are called local.
type node struct {
	world  *world
	random *rand.Rand
	m      *ctxswitch.Machine
	filter clock.Filter
	base   int64 // local clock at the leader's 0
	ppm    int64 // by which the local clock is faster

	now      int64 // local, of the last event
	answers  []answer
	ping     int64 // when the next heartbeat leaves
	pings    int
	arrivals []planArrival // plans on their way, in order
	// thread is when the switching thread acts on the machine's deadline, both local.
	deadline, thread int64

	flushes Flushes
	record  func(*ctxswitch.Record) // is given every one
}

// answer is an order that is carried out until a local instant, or a pong on its way.
type answer struct {
	at     int64
	event  ctxswitch.Event
	sample *clock.Sample // of a pong
}

// planArrival is a plan on its way.
type planArrival struct {
	at   int64
	plan *ctxswitch.Plan
}

func newNode(w *world, seed, number uint64) *node {
	r := rand.New(rand.NewPCG(seed, number))
	return &node{
		world: w, random: r, m: ctxswitch.New(ctxswitch.Config{Channels: w.channels}),
		base: r.Int64N(maxUptime.Nanoseconds()), ppm: r.Int64N(2*driftPPM+1) - driftPPM,
		ping: r.Int64N(pingEvery.Nanoseconds()), deadline: ctxswitch.Never, thread: ctxswitch.Never,
	}
}

// local is the node's clock at an instant of the leader's.
func (n *node) local(t int64) int64 {
	return n.base + t + t/1_000_000*n.ppm + t%1_000_000*n.ppm/1_000_000
}

// cluster is the leader's instant at one of the node's clock, exact to the square of its drift.
func (n *node) cluster(local int64) int64 {
	t := local - n.base
	return t - t/1_000_000*n.ppm - t%1_000_000*n.ppm/1_000_000
}

// has gives the node a job that stands still, with a context that is on its channel; or off the
// network, if channels are scarce.
func (n *node) has(id ctxswitch.JobID) {
	at := n.local(0)
	if n.world.scarce() {
		n.deliver(at, ctxswitch.JobAdopted(id, 1, true))
		return
	}
	n.deliver(at, ctxswitch.JobAdopted(id, 0, true))
	n.deliver(at, ctxswitch.JobConnected(id, 1))
}

// expect lets a plan arrive.
func (n *node) expect(at int64, plan *ctxswitch.Plan) {
	n.arrivals = append(n.arrivals, planArrival{at, plan})
}

// runTo lets the node live until an instant.
func (n *node) runTo(end int64) {
	for {
		n.watch()
		at := min(n.thread, n.local(n.ping))
		next := -1
		for i, a := range n.answers {
			if a.at < at {
				at, next = a.at, i
			}
		}
		planArrives := len(n.arrivals) > 0 && n.local(n.arrivals[0].at) < at
		if planArrives {
			at = n.local(n.arrivals[0].at)
		}
		if at >= n.local(end) {
			return
		}
		switch {
		case planArrives:
			plan := n.arrivals[0].plan
			n.arrivals = n.arrivals[1:]
			n.deliver(at, ctxswitch.PlanArrived(plan))
		case next >= 0:
			a := n.answers[next]
			n.answers = slices.Delete(n.answers, next, next+1)
			n.answered(&a)
		case at == n.thread:
			n.deadline, n.thread = ctxswitch.Never, ctxswitch.Never
			n.deliver(at, ctxswitch.Tick())
		default:
			n.beat()
		}
	}
}

// watch sets the thread's timer, if the machine wants to be asked at another instant than before.
func (n *node) watch() {
	deadline := n.m.Deadline()
	if deadline == n.deadline {
		return
	}
	n.deadline, n.thread = deadline, ctxswitch.Never
	if deadline != ctxswitch.Never {
		n.thread = max(n.now, deadline+n.world.late(n.random))
	}
}

// answered takes what has come.
func (n *node) answered(a *answer) {
	if a.sample == nil {
		n.deliver(a.at, a.event)
		return
	}
	_ = n.filter.Add(firstTerm, *a.sample) // a useless sample changes nothing
	if e, ok := n.filter.Estimate(max(n.now, a.at)); ok {
		n.deliver(a.at, ctxswitch.OffsetChanged(e.Term, e.Offset))
	}
}

// beat sends a heartbeat, which comes back.
func (n *node) beat() {
	there, back := n.world.heartbeat(n.random)
	sent, server := n.ping, n.ping+there.Nanoseconds()
	received := n.local(server + back.Nanoseconds())
	n.answers = append(n.answers, answer{at: received, sample: &clock.Sample{Sent: n.local(sent), Arrived: server, Left: server, Received: received}})
	n.pings++
	if n.ping += pingEvery.Nanoseconds(); n.pings < quickPings {
		n.ping = sent + quickPingEvery.Nanoseconds()
	}
}

// deliver passes an event to the machine at a local instant and begins what it orders.
func (n *node) deliver(local int64, event ctxswitch.Event) {
	n.now = max(n.now, local)
	for _, e := range n.m.Handle(n.now, event) {
		switch e.Kind {
		case ctxswitch.EffectRecord:
			n.record(e.Record)
		case ctxswitch.EffectRevoke, ctxswitch.EffectFreeze, ctxswitch.EffectFlush, ctxswitch.EffectSave, ctxswitch.EffectLoad, ctxswitch.EffectThaw:
			if e.Kind == ctxswitch.EffectFlush {
				n.world.flush(n.random, &n.flushes)
			}
			n.answers = append(n.answers, answer{at: n.now + n.world.took(n.random, e.Step), event: ctxswitch.Done(e)})
		default:
		}
	}
}
