package sim

import (
	"score/ctxswitch"
	"score/flowctl"
	"score/gang"
	"time"
)

// Bounds of the worlds whose gangs are switched.
const (
	minGangs     = 2
	maxGangs     = 4
	maxSkew      = int64(5 * time.Millisecond)
	shortSlice   = int64(time.Millisecond)
	longSlice    = int64(50 * time.Millisecond)
	farSlice     = 4 * shortSlice // with shorter ones, most of the time would be flushing
	farDelay     = int64(300 * time.Microsecond)
	fewMessages  = 24 // per flow, and as few flows of a rank, so that a world is cheap
	fewFlows     = 2
	orderLate    = int64(40 * time.Microsecond)
	networkSpare = int64(200 * time.Microsecond) // see nodeagent/switcher
)

// cluster is what a world has besides contexts if its gangs are switched: a leader, and nodes with
// agents.
type cluster struct {
	w     *world
	plan  clusterPlan
	make  func(Spec) Context
	hosts []*host
	parts []*part
	jobs  []*program
	leader
	answers []answer
	sent    []sentPlan
	done    int             // jobs that ended
	died    func(in string) // of tests: an agent died in the middle of this
	dicePad rng             // of drawing jobs, so that a change of traffic changes no job

	transports    bool // ranks have transports
	transportSeed uint64
	bugs          transportBugs        // of tests
	adjust        func(*transportPlan) // of tests
}

// clusterPlan is a cluster before it runs.
type clusterPlan struct {
	gangs    int
	later    int   // gangs that come while others run
	cpus     int   // of a node
	slice    int64 // of weight 1
	skew     int64 // by how much the nodes' clocks are apart at most
	size     int   // of a datagram
	agents   int   // crashes of agents
	deaths   int   // ranks that die
	kills    int   // jobs that are ended
	leaders  int   // changes of the leader
	jumps    int   // clocks that are stepped
	grabs    int   // processes that do not let go of the driver lock
	hung     int   // permille of the freezes that do not come in time
	signals  bool  // some jobs are stopped by signals
	latePlan int   // permille of the plans that come late
	hostile  int   // processes that write into their images what they like
	channels int   // of a node: how many contexts may stay on them while their jobs are off
	costly   int64 // what stopping a job with many threads costs; 0: there is none
}

// drawCluster makes a world and its cluster. Most are small.
func drawCluster(r *rng) (scenario, clusterPlan) {
	nodes := r.between(2, 3)
	if r.chance(200) {
		nodes = r.between(4, maxNodes)
	}
	s := scenario{
		nodes: nodes, ordered: r.chance(400), flow: drawFlow(r),
		faults: faults{
			loss: r.maybe(150), duplicate: r.maybe(300), reorder: r.maybe(300), corrupt: r.maybe(60), stray: r.maybe(50),
			delay: r.span(500, int64(50*time.Microsecond)), jitter: r.span(0, int64(100*time.Microsecond)),
		},
	}
	if s.ordered {
		s.faults.reorder = 0
	}
	s.flow.Policy = flowctl.AckNack{}
	p := clusterPlan{
		gangs: minGangs + pick(r, 0, 0, 0, 1, 1, 2), cpus: pick(r, 1, 1, 2), later: pick(r, 0, 0, 1),
		size: pick(r, 516, 700, 1472), signals: r.chance(250), hung: pick(r, 0, 0, 0, 100), latePlan: pick(r, 0, 0, 100),
		agents: r.maybe(3), deaths: pick(r, 0, 0, 0, 1), kills: pick(r, 0, 0, 0, 1), leaders: pick(r, 0, 0, 0, 1),
		jumps: pick(r, 0, 0, 0, 0, 1), grabs: pick(r, 0, 0, 2, 6), hostile: pick(r, 0, 0, 0, 0, 0, 0, 0, 2),
	}
	p.slice = pick(r, r.span(shortSlice, 4*shortSlice), r.span(shortSlice, longSlice), r.span(shortSlice, longSlice))
	p.skew = min(r.span(0, maxSkew), p.slice/4)
	if p.slice > farSlice && r.chance(400) {
		s.faults.delay = r.span(s.faults.delay, farDelay)
	}
	s.calm = min(p.slice*int64(r.between(3, 8)), int64(100*time.Millisecond))
	return s, p
}

// drawChannels draws how many channels a node has: none that a job keeps while it is off, as a link
// needs that holds nothing for it; too few for all; or plenty.
func drawChannels(seed uint64) int {
	r := rng{state: seed ^ 0xc4a2}
	return pick(&r, 0, r.between(1, 4), 100)
}

// drawCostly draws what stopping a job with many threads costs, which can be more than its slice; 0
// if there is no such job.
func drawCostly(seed uint64, slice int64) int64 {
	r := rng{state: seed ^ 0x7d5}
	return pick(&r, 0, 0, r.span(slice/20, slice/2), r.span(slice/2, 2*slice))
}

// newCluster makes the hosts and has the first gangs come.
func newCluster(w *world, plan clusterPlan, make func(Spec) Context) *cluster {
	k := &cluster{w: w, plan: plan, make: make, dicePad: rng{state: w.rng.next()}}
	k.lead()
	for n := range w.nodes {
		h := &host{k: k, index: n, base: k.dicePad.span(0, int64(time.Hour)), wrong: k.dicePad.span(0, plan.skew)}
		k.hosts = append(k.hosts, h)
		k.begin(h)
		if err := k.gang.AddNode(gang.Node{ID: nodeID(n), CPUs: plan.cpus, Memory: 1 << 30}); err != nil {
			panic(err)
		}
	}
	for i := range plan.gangs + plan.later {
		at := start + k.dicePad.span(0, int64(time.Millisecond))
		if i >= plan.gangs {
			at = start + k.dicePad.span(0, w.calm)
		}
		w.queue.add(at, evSubmit, int32(i), 0)
	}
	k.schedule()
	w.queue.add(start+auditEvery, evAudit, 0, 0)
	return k
}

// schedule sets the faults that the network does not make.
func (k *cluster) schedule() {
	w, r := k.w, &k.dicePad
	add := func(n int, kind eventKind, ref int) {
		for range n {
			w.queue.add(start+r.span(0, w.calm), kind, int32(r.below(ref)), uint16(r.below(1<<16)))
		}
	}
	add(k.plan.agents, evAgentDies, w.nodes)
	add(k.plan.deaths, evRankDies, 1)
	add(k.plan.kills, evJobDies, 1)
	add(k.plan.leaders, evLeader, 1)
	add(k.plan.jumps, evJump, w.nodes)
	add(k.plan.grabs, evGrab, 1)
	add(k.plan.hostile, evHostile, 1)
	add(w.nodes, evDrift, w.nodes)
	w.queue.add(start+w.calm, evFaultsEnd, 0, 0)
}

// drawProgram draws a job: one rank or two on each of some nodes.
func (k *cluster) drawProgram(id int) gang.Request {
	r := &k.dicePad
	nodes := r.between(2, k.w.nodes)
	if k.w.nodes > 3 && r.chance(600) {
		nodes = r.between(2, 4)
	}
	return gang.Request{ID: gang.JobID(id + 1), Nodes: nodes, Tasks: nodes * r.between(1, k.plan.cpus), Submitted: k.now(), Cyclic: r.chance(500)}
}

// answer is an answer on its way to a machine.
type answer struct {
	life  int // of the agent
	event ctxswitch.Event
}
