package sim

import (
	"score/channels"
	"score/channels/abi"
	"score/channels/residence"
	"score/ctxswitch"
	"score/gang"
	"strconv"
	"time"
)

// Times of a node, in ns.
const (
	wakeLate   = int64(30 * time.Microsecond) // the switching thread, behind its deadline
	maxRestart = int64(15 * time.Millisecond)
	maxActs    = 60 // an agent that is to die in an act dies after at most that many
	agentPid   = 1 << 29
)

// host is a node: its clock, and its agent while it lives.
type host struct {
	k            *cluster
	index        int
	base         int64 // its monotonic clock, minus the world's
	wrong        int64 // error of its estimate of the leader's clock
	alive        bool
	killed       bool
	ignoresPlans bool // of tests: it drops plans
	life         int  // how many agents there were
	dies         int  // acts until the agent dies; 0: not
	machine      *ctxswitch.Machine
	tickAt       int64
	deadline     int64 // of the machine, for which tickAt is
	heardAt      int64 // until when the leader's messages take
	parts        []*part
	todo         []ctxswitch.Effect
	busy         bool
	excused      int64 // until when its gangs may be other than the plan says
	since        int64 // its agent lives
}

// killed is the panic of an agent that dies in the middle of something.
type killed struct {
	host *host
	in   string
}

// deaths are the acts in which agents die.
var deaths = []string{
	"a turn", "sending", "receiving", "before a step", "after a step", "taking the lock", "giving the lock", "flushing",
	"leaving", "having left", "coming back", "having followed", "an order", "thawing", "a step's end",
}

// act is something that the agent does, maybe its last.
func (h *host) act(what string) {
	if h.dies == 0 {
		return
	}
	if h.dies--; h.dies == 0 {
		h.killed = true
		panic(killed{h, what})
	}
}

func nodeID(n int) gang.NodeID { return gang.NodeID(strconv.Itoa(n)) }

func (h *host) local() int64 { return h.k.w.now + h.base }

// disturb notes until when the node cannot be as the plan says.
func (h *host) disturb(until int64) { h.excused = max(h.excused, until) }

// begin starts an agent, which finds what the one before left.
func (k *cluster) begin(h *host) {
	h.life++
	h.alive, h.killed, h.dies = true, false, 0
	h.machine, h.tickAt, h.since = ctxswitch.New(ctxswitch.Config{Channels: k.plan.channels}), 0, k.w.now
	for _, p := range h.parts {
		k.adopt(p)
	}
}

// adopt takes over what a former agent left of a job.
func (k *cluster) adopt(p *part) {
	h, w := p.host, k.w
	p.residence, p.ordered = residence.Machine{}, ctxswitch.Effect{}
	if p.removed {
		k.clear(p) // swept
		return
	}
	if p.launching && !p.launched { // whoever starts them goes on without the agent
		p.launched = true
		if !p.frozen {
			k.letRun(p)
		}
	}
	still := p.launched && (p.frozen || p.stop.Seq != 0) // told to stop
	// An agent may leave what stands still as far from its channel as it is, or bring all back and
	// have it leave again.
	kept := still && k.dicePad.chance(500)
	p.paused = still || !p.launched
	contexts := 0
	for _, e := range p.ends {
		if !e.made {
			continue
		}
		contexts = len(p.ends) // those that are still to be made count as well
		c := e.shared
		c.member = residence.Member{Context: c.member.Context}
		c.lookAt, c.retryAt = 0, 0
		c.img.SetOwner(abi.RoleAgent, channels.Process{Pid: agentPid + uint32(h.life)})
		c.agent = c.driver(abi.RoleAgent, c.d.Size)
		p.residence.Adopt(w.now, &c.member, kept)
		if p.released {
			p.residence.Release(w.now)
			p.residence.Settle(w.now)
		}
	}
	if p.released {
		return
	}
	p.connected = contexts > 0
	switch {
	case !p.launched:
		k.deliver(h, p.kind(ctxswitch.JobAdded(p.id(), 0)))
	case kept || !still:
		k.deliver(h, p.kind(ctxswitch.JobAdopted(p.id(), contexts, still)))
		return
	default:
		k.deliver(h, p.kind(ctxswitch.JobAdopted(p.id(), 0, still)))
	}
	if p.connected {
		k.deliver(h, ctxswitch.JobConnected(p.id(), len(p.ends)))
	}
}

// die ends an agent: what it holds stays as it is.
func (k *cluster) die(h *host) {
	if !h.alive {
		return
	}
	w := k.w
	h.alive, h.machine, h.busy = false, nil, false
	h.todo = h.todo[:0]
	w.res.Restarts++
	again := w.rng.span(int64(200*time.Microsecond), maxRestart)
	h.disturb(w.now + again + planVery + longSlice)
	w.queue.add(w.now+again, evAgentBack, int32(h.index), 0)
	for _, p := range h.parts {
		for _, e := range p.ends {
			if e.made {
				c := e.shared
				c.lookAt = 0
				if n := len(c.out.list); n > 0 { // the system took only some of what was queued
					c.out.list = c.out.list[:w.rng.below(n+1)]
				}
				w.queue.add(w.now+1, evCheck, e.index, 0)
			}
		}
	}
}

// back starts the agent again; the leader speaks to it after a while.
func (k *cluster) back(h *host) {
	if h.alive {
		return
	}
	k.begin(h)
	k.settleHost(h)
	h.heardAt = k.w.now + k.w.rng.span(0, planLate)
	k.sendPlan(h)
}

// settleHost checks all contexts of a host.
func (k *cluster) settleHost(h *host) {
	for _, p := range h.parts {
		k.touchPart(p)
	}
}

// onPlan takes a plan, and with it the leader's clock.
func (k *cluster) onPlan(h *host, s *sentPlan) {
	if !h.alive || h.ignoresPlans {
		return // told again when there is an agent
	}
	if s.plan.Term == k.term {
		k.learn(h)
	}
	k.deliver(h, ctxswitch.PlanArrived(&s.plan))
}

// learn gives the machine the node's estimate of the leader's clock.
func (k *cluster) learn(h *host) {
	k.deliver(h, ctxswitch.OffsetChanged(k.term, k.ahead-h.base+h.wrong))
}

// drift changes the error of a node's estimate.
func (k *cluster) drift(h *host) {
	w := k.w
	if !w.calmed {
		w.queue.add(w.now+w.rng.span(int64(time.Millisecond), int64(10*time.Millisecond)), evDrift, int32(h.index), 0)
	}
	if h.wrong < 0 || h.wrong > k.plan.skew {
		return // it was stepped
	}
	h.wrong = w.rng.span(max(0, h.wrong-k.plan.skew/4), min(k.plan.skew, h.wrong+k.plan.skew/4))
	if h.alive {
		k.learn(h)
	}
}

// jump steps a node's clock, and back after a while.
func (k *cluster) jump(h *host, by uint16) {
	w := k.w
	if w.calmed {
		return
	}
	far := int64(by)*int64(10*time.Microsecond) - int64(300*time.Millisecond)
	h.wrong = far
	h.disturb(start + w.calm + int64(time.Second))
	if h.alive {
		k.learn(h)
	}
}

// nodeIndex is the number of a node.
func nodeIndex(id gang.NodeID) int {
	n, _ := strconv.Atoi(string(id)) // made by nodeID
	return n
}
