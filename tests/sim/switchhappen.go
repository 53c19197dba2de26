package sim

import "time"

// runSwitched runs the world of a seed whose gangs are switched. Its dice are not those of the
// other kinds.
func runSwitched(seed uint64, opt Options) Result {
	w := &world{rng: rng{state: seed ^ 0x5c0de ^ uint64(opt.Kind)<<40}}
	w.now = start
	w.res.Seed, w.res.Driven = seed, true
	var plan clusterPlan
	w.scenario, plan = drawCluster(&w.rng)
	plan.channels = drawChannels(seed)
	plan.costly = drawCostly(seed, plan.slice)
	if opt.Make == nil {
		opt.Make = NewContext
	}
	if opt.Kind == Transports {
		drawTransportWorld(&w.scenario, &plan)
	}
	w.cluster = newCluster(w, plan, opt.Make)
	w.cluster.transports = opt.Kind == Transports
	w.cluster.transportSeed = seed
	if opt.plant != nil {
		opt.plant(w.cluster)
	}
	defer w.close()
	for w.res.Err == nil && w.step() {
	}
	w.res.Crashed = w.dead > 0
	w.res.Switched = true
	return w.res
}

// happen carries out an event, which may be the end of an agent.
func (k *cluster) happen(ev event) {
	w := k.w
	switch ev.kind {
	case evSubmit:
		k.submit(int(ev.ref))
	case evPrepared:
		k.arrived(k.parts[ev.ref])
	case evPlan:
		k.onPlan(k.hosts[ev.arg], &k.sent[ev.ref])
	case evMachine:
		k.tick(k.hosts[ev.ref], ev.at)
	case evAnswer:
		if h, a := k.hosts[ev.arg], &k.answers[ev.ref]; h.alive && a.life == h.life {
			k.deliver(h, a.event)
		}
	case evOrder:
		k.order(k.parts[ev.ref])
	case evOver:
		if p := k.parts[ev.ref]; p.host.alive && !p.removed {
			k.progress(p)
		}
	case evFrozen:
		k.froze(k.parts[ev.ref], ev.arg)
	case evLaunched:
		k.launched(k.parts[ev.ref])
	case evCheck:
		k.check(w.ends[ev.ref], ev.at)
	case evPoll:
		k.poll(k.jobs[ev.ref])
	case evEnded:
		k.ended(k.jobs[ev.ref])
	case evRemove:
		k.remove(k.parts[ev.ref])
	case evDrift:
		k.drift(k.hosts[ev.ref])
	case evUngrab:
		k.ungrab(w.ends[ev.ref])
	case evAgentBack:
		k.back(k.hosts[ev.ref])
	case evAudit:
		k.audit()
	case evTransport:
		w.ends[ev.ref].transport.check(ev.at)
	case evBulk:
		w.arriveBulk(ev.ref)
	default:
		k.fault(ev)
	}
}

// fault causes the fault of an event.
func (k *cluster) fault(ev event) {
	w := k.w
	if w.calmed {
		return
	}
	switch ev.kind {
	case evAgentDies:
		if h := k.hosts[ev.ref]; h.alive {
			h.dies = 1 + int(ev.arg)%maxActs
			w.queue.add(w.now+int64(5*time.Millisecond), evAgentIdle, ev.ref, 0)
		}
	case evAgentIdle:
		if h := k.hosts[ev.ref]; h.alive && h.dies > 0 {
			k.die(h) // it had nothing to do
		}
	case evJump:
		k.jump(k.hosts[ev.ref], ev.arg)
	case evLeader:
		k.change()
	case evRankDies, evGrab, evHostile:
		if len(w.ends) == 0 {
			return
		}
		e := w.ends[int(ev.arg)%len(w.ends)]
		if e.part.removed || e.part.released {
			return
		}
		switch {
		case ev.kind == evGrab:
			k.grab(e)
		case ev.kind == evHostile:
			k.scribble(e)
		case e.part.launched:
			k.kill(e)
		}
	case evJobDies:
		if len(k.jobs) > 0 {
			k.endSoon(k.jobs[int(ev.arg)%len(k.jobs)])
		}
	default:
	}
}

// recoverKilled ends the agent that was killed in the middle of an act.
func (k *cluster) recoverKilled(ev event) {
	dead := recover()
	if dead == nil {
		return
	}
	d, ok := dead.(killed)
	if !ok {
		panic(dead)
	}
	k.die(d.host)
	if k.died != nil {
		k.died(d.in)
	}
	switch ev.kind {
	case evPeerDied, evRemove, evPoll, evAgentBack, evEnded, evUngrab: // what others do as well
		k.w.queue.add(k.w.now+int64(time.Millisecond), ev.kind, ev.ref, ev.arg)
	case evApp:
		k.w.wakeAgain(k.w.ends[ev.ref])
	default:
	}
	k.settleHost(d.host)
}

// endFaults ends all faults: agents are there again, and clocks right.
func (k *cluster) endFaults() {
	w := k.w
	w.calmed = true
	w.faults = faults{delay: w.faults.delay}
	for _, h := range k.hosts {
		h.dies = 0
		h.wrong = w.rng.span(0, k.plan.skew)
		h.disturb(w.now + planVery)
		if h.alive {
			k.learn(h)
		}
	}
	for _, p := range k.jobs {
		if p.hostile {
			k.endSoon(p)
		}
	}
	for _, e := range w.ends {
		e.think, e.greed = int64(20*time.Microsecond), e.spec.InboxCap
	}
}

// finished reports whether all jobs have ended, and nothing of them is left.
func (k *cluster) finished() bool { return k.done == k.plan.gangs+k.plan.later }

// bound returns the time by which everything must be over: all jobs have their turns, and each of
// them settles.
func (k *cluster) bound() int64 {
	cycle := k.plan.slice * int64(k.plan.gangs+k.plan.later)
	bound := start + k.w.calm + int64(SettleBound)*2 + 40*cycle
	if k.transports {
		bound += int64(transportBound)
	}
	return bound
}

// unfinished names something that is not over.
func (k *cluster) unfinished() string {
	for _, p := range k.jobs {
		if p.removed < len(p.parts) {
			return p.unfinished()
		}
	}
	return "jobs that never began"
}
