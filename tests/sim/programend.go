package sim

import (
	"score/channels/abi"
	"score/ctxswitch"
	"time"
)

// maxDeathNotice is how long the news of a death takes at most, in ns.
const maxDeathNotice = int64(20 * time.Millisecond)

// kill ends a rank, in the middle of a section in some cases.
func (k *cluster) kill(e *end) {
	w := k.w
	if e.dead || w.calmed {
		return
	}
	c := e.shared
	holds := c != nil && (c.grabbed || c.processRuns() && w.rng.chance(300) && c.process.Enter())
	e.dead = true
	w.dead++
	for _, other := range e.part.job.ends {
		if other != e && other.made {
			wait := w.rng.span(0, maxDeathNotice)
			w.queue.add(w.now+wait, evPeerDied, other.index, e.spec.Rank)
		}
	}
	if c != nil {
		c.grabbed = false
		if holds {
			c.killLockHolder()
		}
		e.agentDrives = e.ctx.End(w.now)
	}
	w.recount()
	if w.rng.chance(600) {
		k.endSoon(e.part.job)
	}
	if c != nil {
		w.touch(e)
	}
}

// killLockHolder replaces the process that holds the lock by a dead one: with its number and
// another start time.
func (c *sharedContext) killLockHolder() {
	was := c.img.Owner(abi.RoleProcess)
	was.Start++
	c.img.SetOwner(abi.RoleProcess, was)
}

// endSoon has a job ended by the leader, each node at its own time.
func (k *cluster) endSoon(p *program) {
	if p.over {
		return
	}
	p.over = true
	w := k.w
	w.queue.add(w.now+w.rng.span(0, planLate), evEnded, int32(p.index), 0)
	for _, part := range p.parts {
		w.queue.add(w.now+w.rng.span(0, 2*planLate), evRemove, part.index, 0)
	}
}

// remove ends what is left of a job on a node.
func (k *cluster) remove(p *part) {
	if p.removed {
		return
	}
	p.removed = true
	for _, e := range p.ends {
		if e.made && !e.dead && p.job.complete && !p.job.hostile {
			k.w.checkEndFreed(e)
		}
		e.dead, e.agentDrives, e.closed = true, false, true
		e.socket = nil
	}
	k.w.recount()
	if p.host.alive {
		if !p.released {
			k.deliver(p.host, ctxswitch.JobRemoved(p.id()))
		}
		k.clear(p)
	}
}

// clear frees a part's contexts.
func (k *cluster) clear(p *part) {
	if p.cleared {
		return
	}
	p.cleared = true
	for _, e := range p.ends {
		if e.made {
			p.residence.Drop(&e.shared.member)
			e.made = false
			e.ctx.Close()
		}
	}
	if p.job.removed++; p.job.removed == len(p.job.parts) {
		k.done++
	}
}

// completed reports whether all that the job's live ranks had to send has arrived, or was reported
// not to.
func (k *cluster) completed(p *program) bool {
	for _, e := range p.ends {
		if e.dead {
			continue
		}
		for i := range e.flows {
			f := &e.flows[i]
			to := p.ends[f.to]
			switch {
			case !e.made:
				return false
			case e.ctx.Lost(f.to):
			case f.left > 0 || !e.ctx.Settled(f.to) || !to.gone() && to.got[e.spec.Rank] != f.next:
				return false
			}
		}
		if e.transport != nil && !e.transport.over(p) {
			return false
		}
		for _, rank := range e.notified {
			if !e.ctx.Lost(rank) {
				return false
			}
		}
	}
	return true
}

// poll checks whether a job, or a part of one, has done its work.
func (k *cluster) poll(p *program) {
	if p.over {
		return
	}
	if p.prepared == len(p.parts) && !p.hostile && k.completed(p) {
		p.complete = true
		if k.transports {
			k.checkTransports(p)
		}
		k.endSoon(p)
		return
	}
	for _, part := range p.parts {
		if k.dicePad.chance(300) && !p.hostile && part.idle() {
			k.release(part)
		}
	}
	k.w.queue.add(k.w.now+pollEvery, evPoll, int32(p.index), 0)
}

// pollEvery is the interval of the checks whether a job is complete, in ns.
const pollEvery = int64(2 * time.Millisecond)

// idle reports whether the part's processes run, and have sent and received everything.
func (p *part) idle() bool {
	if !p.launched || p.frozen || p.released || p.removed || !p.host.alive {
		return false
	}
	for _, e := range p.ends {
		if !e.made || e.dead || e.away || e.shared.grabbed || e.transport != nil {
			return false
		}
		for i := range e.flows {
			if e.flows[i].left > 0 {
				return false
			}
		}
		for _, from := range p.job.ends {
			for i := range from.flows {
				if f := &from.flows[i]; f.to == e.spec.Rank && !from.gone() && (f.left > 0 || e.got[from.spec.Rank] != f.next) {
					return false
				}
			}
		}
	}
	return true
}

// release ends a part's processes while the job goes on elsewhere: what they sent last is still to
// arrive.
func (k *cluster) release(p *part) {
	w := k.w
	p.released = true
	for _, e := range p.ends {
		e.closed = true
		e.ctx.Leave(w.now)
	}
	w.recount()
	k.deliver(p.host, ctxswitch.JobRemoved(p.id()))
	p.ordered = ctxswitch.Effect{}
	p.residence.Release(w.now)
	p.residence.Settle(w.now)
	k.touchPart(p)
}
