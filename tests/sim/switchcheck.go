package sim

import (
	"fmt"
	"score/ctxswitch"
	"score/gang"
	"time"
)

const (
	// maxSwitch bounds the time until a node follows the plan: all waits of a switch
	// (ctxswitch.RevokeTimeout and so on), twice, since a switch may be broken off and begin again.
	maxSwitch = int64(12 * time.Millisecond)
	// stopMore is what it may take longer with jobs that are stopped by signals.
	stopMore = int64(10 * time.Millisecond)
	// auditEvery is the interval of the checks whether gangs are whole.
	auditEvery = int64(4 * time.Millisecond)
	// maxSlots bounds the slots that are checked.
	maxSlots = 100
)

func (k *cluster) tolerance() int64 {
	if k.plan.signals {
		return maxSwitch + stopMore
	}
	return maxSwitch
}

// duty reports whether the plan has a job on at some instant, and at all, from one instant of the
// leader's clock to another. ok is false if no plan says.
func (k *cluster) duty(id gang.JobID, from, to int64) (some, all, ok bool) {
	all = true
	for range maxSlots {
		plan := k.inForce(from)
		if plan == nil {
			return false, false, false
		}
		pos, _, end, _ := plan.At(from)
		on := false
		if pos >= 0 {
			for _, job := range plan.Rows[pos].Jobs {
				on = on || job == id
			}
		}
		some, all = some || on, all && on
		for i := range k.history { // a plan may begin in the midst of the slot
			if o := k.history[i].Origin; o > from {
				end = min(end, o)
			}
		}
		if end > to {
			return some, all, true
		}
		from = end
	}
	return some, all, false
}

// audit checks that each gang whose turn it has been for long enough is resident and runs on all
// its nodes, and none whose turn it is not.
func (k *cluster) audit() {
	w := k.w
	w.queue.add(w.now+w.rng.span(auditEvery/4, auditEvery), evAudit, 0, 0)
	t := k.now()
	for _, job := range k.jobs {
		if job.hostile {
			continue
		}
		some, all, ok := k.duty(job.id, t-k.tolerance(), t+k.plan.skew+ctxswitch.MaxAhead.Nanoseconds())
		if !ok || some != all || w.now-k.since < k.tolerance() {
			continue
		}
		for _, p := range job.parts {
			if p.accountable() && (!all || !p.costly()) { // it may be stopped ahead, or sit its slice out
				w.res.Audits++
				k.auditPart(p, all)
			}
		}
	}
}

// accountable reports whether nothing happened to the part that lets it be other than the plan
// says.
func (p *part) accountable() bool {
	h := p.host
	return p.ready && !p.removed && !p.released && !p.job.over && h.alive && h.dies == 0 && h.k.w.now > h.excused
}

func (k *cluster) auditPart(p *part, on bool) {
	w := k.w
	begins := on && p.launching && !p.launched
	if on != (p.launched && !p.frozen) && p.stop.Seq == 0 && !begins {
		w.fail(Gang, "job %d on node %d: its turn %v, launched %v, stands still %v", p.job.id, p.host.index, on, p.launched, p.frozen)
	}
	resident := on || p.stays()
	for _, e := range p.ends {
		if !e.made || w.now-e.madeAt < k.tolerance() || e.dead {
			continue
		}
		member := &e.shared.member
		switch {
		case member.Wanted(): // left as it is until its process lets go
		case !resident && k.plan.channels > 0 && p.host.machine.State() != ctxswitch.Steady:
			// Another job has just got the channels on which it stayed.
		case resident == e.away || resident == member.Kept():
			w.fail(Gang, "%v on node %d: its gang's turn %v, resident %v, away %v, kept by the agent %v",
				e, p.host.index, on, resident, e.away, member.Kept())
		}
	}
	if !on && resident {
		w.res.Stays++
		k.auditRoom(p.host)
	}
}

// stays reports whether the part's contexts should be on their channels now.
func (p *part) stays() bool {
	status, _ := p.host.machine.Job(p.id(), p.host.local())
	return status.Resident
}

// auditRoom checks that a node on which contexts stay has no more on its channels than it has of
// them.
func (k *cluster) auditRoom(h *host) {
	w, resident, what := k.w, 0, ""
	for _, p := range h.parts {
		if p.removed || p.released || !p.accountable() {
			continue
		}
		for _, e := range p.ends {
			if !e.made || e.away || e.dead || w.now-e.madeAt <= k.tolerance() || e.shared.member.Wanted() {
				continue
			}
			// A hostile program may have written into its image that it is away; the agent has it
			// so.
			if !p.job.hostile || !e.shared.member.Away() {
				resident++
				what += fmt.Sprintf(" %v", e)
			}
		}
	}
	if resident > k.plan.channels {
		w.fail(Gang, "%d contexts are on the %d channels of node %d:%s", resident, k.plan.channels, h.index, what)
	}
}

// checkComes checks that a context comes back in its gang's turn only.
func (w *world) checkComes(e *end) {
	k, p := w.cluster, e.part
	if !e.away || e.harmless() || !p.accountable() || w.now-p.host.since < k.tolerance() || w.now-k.since < k.tolerance() {
		return
	}
	t := k.now()
	if some, _, ok := k.duty(p.job.id, t-k.tolerance(), t+k.plan.skew); ok && !some && !p.stays() {
		w.fail(Gang, "%v comes back on node %d, and its gang's turn is far", e, p.host.index)
	}
}

// checkLeft checks a context that is not resident.
func (w *world) checkLeft(e *end) {
	if !e.away || !e.shared.clean {
		return
	}
	for to := range e.spec.Ranks {
		if !w.peer(e, to).gone() {
			if id, ok := w.flying(e, to); ok {
				w.fail(Clean, "%v left with nothing in flight, and frame %d to rank %d is", e, id, to)
			}
		}
	}
}

// checkEndFreed checks, at the end of a job, that nothing of it is left.
func (w *world) checkEndFreed(e *end) {
	if err := e.ctx.Check(); err != nil {
		w.fail(Freed, "%v: %v", e, err)
	}
}

// unfinished names something of a job that is not over.
func (p *program) unfinished() string {
	for _, e := range p.ends {
		if e.transport != nil && !e.dead && !e.transport.done() {
			return fmt.Sprintf("%v is not done: %s (%s)", e, e.transport, e.part)
		}
	}
	for _, e := range p.ends {
		for i := range e.flows {
			f := &e.flows[i]
			to := p.ends[f.to]
			if e.dead || e.made && e.ctx.Lost(f.to) || f.left == 0 && e.made && e.ctx.Settled(f.to) && (to.gone() || to.got[e.spec.Rank] == f.next) {
				continue
			}
			return fmt.Sprintf(
				"%v has %d messages to send to rank %d, which received %d of %d (made %v, closed %v, %s, agent alive %v; there made %v, closed %v, %s, agent alive %v)",
				e,
				f.left,
				f.to,
				to.got[e.spec.Rank],
				f.next,
				e.made,
				e.closed,
				e.part,
				e.part.host.alive,
				to.made,
				to.closed,
				to.part,
				to.part.host.alive,
			)
		}
	}
	return fmt.Sprintf("job %d is over %v, complete %v, %d of %d parts prepared, %d removed", p.id, p.over, p.complete, p.prepared, len(p.parts), p.removed)
}

// String describes the state of a part.
func (p *part) String() string {
	off := "on"
	if p.residence.Off() {
		off = "off"
	}
	return fmt.Sprintf("%s, launched %v, stands still %v", off, p.launched, p.frozen)
}
