package sim

import (
	"score/channels/residence"
	"score/ctxswitch"
	"time"
)

// Times of carrying out orders, in ns.
const (
	maxStop   = int64(60 * time.Microsecond)
	stopHung  = int64(80 * time.Millisecond)
	stopNews  = int64(10 * time.Millisecond) // the kernel tells of a freeze at most so late
	maxLaunch = int64(3 * time.Millisecond)
)

// steps are the steps of a switch that concern contexts.
var steps = map[ctxswitch.Step]residence.Step{
	ctxswitch.Revoke: residence.Revoke, ctxswitch.Flush: residence.Flush,
	ctxswitch.Save: residence.Save, ctxswitch.Load: residence.Load,
}

// deliver passes an event to a node's machine, and does what it orders, as the switching thread
// does.
func (k *cluster) deliver(h *host, ev ctxswitch.Event) {
	if !h.alive {
		return
	}
	for _, effect := range h.machine.Handle(h.local(), ev) {
		if effect.Kind == ctxswitch.EffectRecord {
			k.w.res.Switches++
			continue
		}
		h.todo = append(h.todo, effect)
	}
	if h.busy {
		return
	}
	h.busy = true
	for i := 0; i < len(h.todo); i++ {
		k.carryOut(h, h.todo[i])
	}
	h.busy, h.todo = false, h.todo[:0]
	k.scheduleTick(h)
}

// scheduleTick has the machine asked again when it wants to be.
func (k *cluster) scheduleTick(h *host) {
	d := h.machine.Deadline()
	if d == ctxswitch.Never || d == h.deadline && h.tickAt > k.w.now {
		return
	}
	h.deadline = d
	h.tickAt = max(d-h.base, k.w.now) + k.w.rng.span(0, wakeLate)
	k.w.queue.add(h.tickAt, evMachine, int32(h.index), 0)
}

func (k *cluster) tick(h *host, at int64) {
	if h.alive && at == h.tickAt {
		h.tickAt = 0
		k.deliver(h, ctxswitch.Tick())
	}
}

// carryOut does what the machine orders.
func (k *cluster) carryOut(h *host, e ctxswitch.Effect) {
	h.act("an order")
	p := k.partOf(h, e.Job)
	if p == nil {
		return
	}
	w := k.w
	switch e.Kind {
	case ctxswitch.EffectFreeze:
		p.stop, p.stopLife = e, h.life
		p.paused = true
		if status, _ := h.machine.Job(e.Job, h.local()); status.Early {
			w.res.Early++
		}
		takes := w.rng.span(0, maxStop)
		if !w.calmed && w.rng.chance(k.plan.hung) {
			takes = w.rng.span(0, stopHung)
		}
		takes += w.rng.span(0, p.cost())
		w.queue.add(w.now+takes, evFrozen, p.index, uint16(e.Seq))
	case ctxswitch.EffectThaw:
		p.stop = ctxswitch.Effect{}
		k.thaw(p)
		k.resume(p)
		h.act("thawing")
		k.deliver(h, ctxswitch.Done(e))
	case ctxswitch.EffectLaunch:
		p.launching = true
		k.resume(p)
		w.queue.add(w.now+w.rng.span(0, maxLaunch), evLaunched, p.index, 0)
	case ctxswitch.EffectRevoke, ctxswitch.EffectFlush, ctxswitch.EffectSave, ctxswitch.EffectLoad:
		p.ordered = e
		w.queue.add(w.now+w.rng.span(0, orderLate), evOrder, p.index, 0)
	default:
	}
}

func (k *cluster) partOf(h *host, id ctxswitch.JobID) *part {
	for _, p := range h.parts {
		if p.id() == id && !p.removed && !p.released {
			return p
		}
	}
	return nil
}

// order begins with the newest step that was ordered for a job's contexts, as the node's loop does.
func (k *cluster) order(p *part) {
	h, e := p.host, p.ordered
	if !h.alive || e.Seq == 0 || p.removed || p.released {
		return
	}
	p.ordered = ctxswitch.Effect{}
	p.residence.Order(k.w.now, steps[e.Step], e.Seq, e.By-networkSpare-h.base)
	k.progress(p)
	p.residence.Settle(k.w.now)
	k.touchPart(p)
	if p.residence.Awaited() {
		k.w.queue.add(max(p.residence.Deadline(), k.w.now+1), evOver, p.index, 0)
	}
}

// progress answers for a step that is over.
func (k *cluster) progress(p *part) {
	out, over := p.residence.Outcome(k.w.now)
	if !over {
		return
	}
	p.host.act("a step's end")
	res := &k.w.res
	res.Clean, res.CutOff, res.Held = res.Clean+out.Flushed, res.CutOff+out.CutOff, res.Held+out.Held
	for step, s := range steps {
		if s == out.Step {
			k.answer(p.host, ctxswitch.Done(ctxswitch.Effect{Step: step, Job: p.id(), Seq: out.Number}), orderLate)
		}
	}
}

// answer passes an event to the machine after a while, if it is still the same machine.
func (k *cluster) answer(h *host, ev ctxswitch.Event, limit int64) {
	k.answers = append(k.answers, answer{life: h.life, event: ev})
	k.w.queue.add(k.w.now+k.w.rng.span(0, limit), evAnswer, int32(len(k.answers)-1), uint16(h.index))
}

// froze returns when the kernel has stopped a job's processes.
func (k *cluster) froze(p *part, seq uint16) {
	if p.removed || p.stop.Seq == 0 || uint16(p.stop.Seq) != seq {
		return
	}
	e := p.stop
	p.stop = ctxswitch.Effect{}
	p.frozen = true
	for _, end := range p.ends {
		end.stopped = true
		if end.transport != nil {
			end.transport.stopped()
		}
	}
	if !p.host.alive || p.stopLife != p.host.life {
		return
	}
	news := stopNews
	if p.signals {
		news = maxStop
	}
	k.answer(p.host, ctxswitch.Done(e).Costing(time.Duration(p.cost())), news)
}

// costlyJobs is how many jobs there are for each whose stops are costly.
const costlyJobs = 2

// costly reports whether the part has many threads.
func (p *part) costly() bool {
	return p.host.k.plan.costly > 0 && !p.signals && p.job.id%costlyJobs == 0
}

// cost returns what stopping the part costs now. When the faults are over it has few threads.
func (p *part) cost() int64 {
	if !p.costly() || p.host.k.w.calmed {
		return 0
	}
	return p.host.k.plan.costly
}

func (k *cluster) thaw(p *part) {
	p.frozen = false
	if p.launched {
		k.letRun(p)
	}
}

// resume has the agent drive again the contexts that it left alone.
func (k *cluster) resume(p *part) {
	p.paused = false
	for _, e := range p.ends {
		if e.made && !p.residence.Off() {
			e.shared.member.Context.Back(k.w.now)
		}
	}
}

func (k *cluster) letRun(p *part) {
	for _, e := range p.ends {
		e.stopped = false
		if !e.gone() {
			k.w.wake(e, k.w.now+e.think)
		}
		if e.made && e.shared.grabbed {
			k.w.queue.add(k.w.now+maxStop, evUngrab, e.index, 0) // it goes on where it was stopped
		}
	}
}

// launched returns when all processes of a job exist. In a cgroup those of a job that was stopped
// meanwhile are born stopped.
func (k *cluster) launched(p *part) {
	if p.removed || p.launched {
		return
	}
	p.launched = true
	if p.signals {
		p.frozen = false
	}
	if !p.frozen {
		k.letRun(p)
	}
	k.deliver(p.host, ctxswitch.JobLaunched(p.id()))
}

// check is an agent's check of a context.
func (k *cluster) check(e *end, at int64) {
	if !e.made || e.silent() {
		return
	}
	c, p := e.shared, e.part
	due := at == c.lookAt
	if due {
		c.lookAt = 0
	}
	if due && c.off() {
		c.check(k.w.now)
		k.progress(p)
	}
	k.w.touch(e)
}

// touchPart checks all contexts of a job on a node after something was done to them.
func (k *cluster) touchPart(p *part) {
	for _, e := range p.ends {
		if e.made {
			k.w.touch(e)
		}
	}
}

// grab has a process not let go of the driver lock for a while.
func (k *cluster) grab(e *end) {
	c := e.shared
	if !e.made || e.silent() || k.w.calmed || !c.processRuns() || !c.process.Enter() {
		return
	}
	c.grabbed = true
	w := k.w
	long := pick(&w.rng, int64(20*time.Microsecond), int64(400*time.Microsecond), int64(3*time.Millisecond), int64(20*time.Millisecond))
	w.queue.add(w.now+w.rng.span(0, long), evUngrab, e.index, 0)
}

// ungrab ends the section, if the process is not stopped in it.
func (k *cluster) ungrab(e *end) {
	if !e.made || e.dead || !e.shared.grabbed {
		return
	}
	if e.stopped {
		return // see letRun
	}
	c := e.shared
	c.process.Drive(k.w.now)
	c.process.Leave()
	c.after(c.process)
	c.grabbed = false
	c.given()
	k.w.wake(e, k.w.now+e.think)
	k.w.touch(e)
}
