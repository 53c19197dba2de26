package sim

import (
	"score/channels"
	"score/channels/abi"
	"score/channels/residence"
	"score/ctxswitch"
	"score/gang"
	"time"
)

// program is a job and what became of it.
type program struct {
	id       gang.JobID
	index    int
	ends     []*end // by rank
	parts    []*part
	prepared int
	hostile  bool // a process of it writes into its image what it likes
	complete bool // all that was to be sent arrived
	over     bool // the leader knows that it ended, or soon will
	removed  int  // parts that are gone

	transports transportPlan
}

// part is a job's part of a node.
type part struct {
	job       *program
	host      *host
	index     int32
	ends      []*end
	residence residence.Machine

	signals   bool
	ready     bool             // prepared
	launching bool             // they are being started
	launched  bool             // its processes exist
	frozen    bool             // they stand still
	paused    bool             // they are to: the agent leaves contexts alone that stay
	stop      ctxswitch.Effect // the freeze under way; Seq 0: none
	stopLife  int              // of the agent that ordered it
	connected bool
	ordered   ctxswitch.Effect // the newest step for the contexts, not begun yet; Seq 0: none
	released  bool             // its processes ended, and its contexts go on
	removed   bool             // it is gone, or to go
	cleared   bool
}

func (p *part) id() ctxswitch.JobID { return ctxswitch.JobID(p.job.id) }

func (p *part) kind(ev ctxswitch.Event) ctxswitch.Event {
	if p.signals {
		return ev.StopAwaited()
	}
	return ev
}

// on is the job's part of a node, or nil.
func (p *program) on(h *host) *part {
	for _, part := range p.parts {
		if part.host == h {
			return part
		}
	}
	return nil
}

// prepare makes the ends of a gang that was placed. Its contexts are made when somebody asks for
// them.
func (k *cluster) prepare(a gang.Allocation) {
	w := k.w
	p := &program{id: a.Job, index: len(k.jobs)}
	k.jobs = append(k.jobs, p)
	nodes := map[int]int{}
	for _, place := range a.Places {
		for _, rank := range place.Ranks {
			nodes[rank] = nodeIndex(place.Node)
		}
	}
	spec := w.drawSharedSpec(&k.dicePad, k.plan.size, p.index, nodes)
	first := len(w.ends)
	for rank := range len(nodes) {
		s := spec
		s.Rank = uint16(rank)
		s.Drive = spec.Drive.of(first, rank)
		e := newEnd(w, len(w.ends), first, nodes[rank], nil, s)
		k.slowDown(e)
		e.stopped = true
		p.ends = append(p.ends, e)
		w.ends = append(w.ends, e)
	}
	for _, place := range a.Places {
		k.prepareOn(p, k.hosts[nodeIndex(place.Node)], place.Ranks)
	}
	if k.transports {
		p.transports = drawTransports(&k.dicePad)
		if k.adjust != nil {
			k.adjust(&p.transports)
		}
		for _, e := range p.ends {
			k.addTransport(e)
		}
	}
	w.queue.add(w.now+pollEvery, evPoll, int32(p.index), 0)
	w.recount()
}

// slowDown has a process send little, in many cases over the whole time of the faults.
func (k *cluster) slowDown(e *end) {
	e.flows = e.flows[:min(len(e.flows), fewFlows)]
	left := 0
	for i := range e.flows {
		f := &e.flows[i]
		f.left = min(f.left, fewMessages)
		left += f.left
	}
	if left > 0 && k.dicePad.chance(700) {
		e.think = min(k.w.calm*sentInTurn/int64(left), int64(3*time.Millisecond))
	}
}

// sentInTurn is how many messages a process sends in a turn at most, see world.process.
const sentInTurn = 4

func (k *cluster) prepareOn(p *program, h *host, ranks []int) {
	part := &part{job: p, host: h, index: int32(len(k.parts)), signals: k.plan.signals && k.dicePad.chance(500), paused: true}
	for _, rank := range ranks {
		p.ends[rank].part = part
		part.ends = append(part.ends, p.ends[rank])
	}
	k.parts = append(k.parts, part)
	p.parts = append(p.parts, part)
	h.parts = append(h.parts, part)
	k.w.queue.add(k.w.now+k.w.rng.span(0, prepare), evPrepared, part.index, 0)
}

// arrived prepares a job at the agent.
func (k *cluster) arrived(p *part) {
	if p.removed {
		return
	}
	if !p.host.alive {
		k.w.queue.add(k.w.now+prepare, evPrepared, p.index, 0)
		return
	}
	p.ready = true
	if p.job.prepared++; p.job.prepared == len(p.job.parts) {
		k.prepared(p.job)
	}
	k.deliver(p.host, p.kind(ctxswitch.JobAdded(p.id(), 0).NotPlannedYet())) // last: the agent may die in it
}

// open makes a context, unless its agent is dead.
func (k *cluster) open(e *end) bool {
	p := e.part
	if e.made || !p.host.alive || !p.ready || p.removed || p.released {
		return e.made
	}
	spec := e.spec
	d := *spec.Drive
	d.Bind = func(c *sharedContext) { e.shared, c.end = c, e }
	spec.Drive = &d
	e.ctx = k.make(spec)
	e.made, e.madeAt = true, k.w.now
	e.shared.img.SetOwner(abi.RoleAgent, channels.Process{Pid: agentPid + uint32(p.host.life)})
	k.reportDeaths(e)
	p.residence.Add(k.w.now, &e.shared.member)
	if !p.connected {
		p.connected = true
		k.deliver(p.host, ctxswitch.JobConnected(p.id(), len(p.ends)))
	}
	return true
}

// reportDeaths reports to a new context the ranks that have died before.
func (k *cluster) reportDeaths(e *end) {
	for _, other := range e.part.job.ends {
		if other.dead && other != e {
			k.w.queue.add(k.w.now+prepare, evPeerDied, e.index, other.spec.Rank)
		}
	}
}

// left notes that an end leaves its channel.
func (e *end) left(accepted uint64) { e.away, e.entered = true, accepted }
