package sim

import "time"

// What happens besides frames, timers and turns to contexts that have an image.

// scheduleChanges has the drivers of some ends forget, now and then, and an end close.
func (w *world) scheduleChanges() {
	for i := range w.ends {
		if !w.rng.chance(300) {
			continue
		}
		for range w.rng.between(1, 3) {
			w.queue.add(start+w.rng.span(0, w.calm), evRestart, int32(i), 0)
		}
	}
	if w.rng.chance(250) {
		w.queue.add(start+w.rng.span(0, w.calm), evClose, int32(w.rng.below(len(w.ends))), 0)
	}
}

// leave closes an end: its process sends no more, and what it sent is still delivered.
func (w *world) leave(e *end) {
	if !e.running() || w.calmed {
		return
	}
	e.closed = true
	for i := range e.flows {
		e.flows[i].left = 0
	}
	e.ctx.Leave(w.now)
	if w.rng.chance(300) {
		w.queue.add(w.now+w.rng.span(0, int64(2*time.Millisecond)), evCrash, e.index, 0)
	}
	w.recount()
	w.touch(e)
}

// restart replaces a driver, between two of its sections.
func (w *world) restart(e *end) {
	if e.silent() || e.paused {
		return
	}
	e.ctx.Restart(w.now)
	w.touch(e)
}

// scheduleNews schedules the news for the peers of a dead end, each at its own time: some before
// the last frames arrive, some only after they found out by themselves.
func (w *world) scheduleNews(dead *end) {
	for rank := range dead.spec.Ranks {
		e := w.peer(dead, rank)
		if e == dead {
			continue
		}
		wait := w.rng.span(0, pick(&w.rng, int64(200*time.Microsecond), int64(20*time.Millisecond), int64(maxNotice)))
		w.queue.add(w.now+wait, evPeerDied, e.index, dead.spec.Rank)
	}
}

// notify reports a death to an end, as soon as somebody there can take the report.
func (w *world) notify(e *end, rank uint16) {
	switch {
	case e.dead || !e.made:
	case e.paused:
		w.queue.add(w.now+int64(time.Millisecond), evPeerDied, e.index, rank)
	case !e.ctx.PeerDied(w.now, rank):
		if e.shared != nil {
			w.queue.add(w.now+int64(time.Millisecond), evPeerDied, e.index, rank)
		}
	default:
		e.notified = append(e.notified, rank)
		e.unblock(rank)
		if e.transport != nil && e.running() {
			w.wake(e, w.now+e.think)
		}
		w.touch(e)
	}
}

// checkFreed checks, at the end of all, that nothing is left.
func (w *world) checkFreed() {
	for _, e := range w.ends {
		if e.dead || !e.made {
			continue
		}
		if err := e.ctx.Check(); err != nil {
			w.fail(Freed, "%v: %v", e, err)
		}
	}
}

// close gives the contexts back.
func (w *world) close() {
	for _, e := range w.ends {
		if e.made {
			e.ctx.Close()
		}
	}
}

// happen carries out an event.
func (w *world) happen(ev event) {
	if w.cluster != nil {
		defer w.cluster.recoverKilled(ev)
	}
	switch ev.kind {
	case evArrive:
		w.arrive(ev.ref)
	case evTick:
		e := w.ends[ev.ref]
		if e.tickAt != ev.at || e.silent() || !e.made {
			return // a later one has taken its place
		}
		e.tickAt = 0
		if e.paused {
			return
		}
		e.ctx.Tick(w.now)
		if w.res.Driven {
			e.unblock(e.spec.Rank) // a peer may have been given up, and its space with it
		}
		w.touch(e)
	case evApp:
		w.process(w.ends[ev.ref])
	case evPause:
		w.ends[ev.ref].paused = !w.calmed
	case evUnpause:
		w.unpause(w.ends[ev.ref])
	case evSwitch:
		w.turnNode(int(ev.arg))
	case evCutoff:
		if e := w.ends[ev.ref]; e.flushing && e.flushedBy == ev.at {
			w.suspend(e)
		}
	case evCrash:
		w.crash(w.ends[ev.ref])
	case evRestart:
		w.restart(w.ends[ev.ref])
	case evClose:
		w.leave(w.ends[ev.ref])
	case evPeerDied:
		w.notify(w.ends[ev.ref], ev.arg)
	case evFaultsEnd:
		w.endFaults()
	default:
		w.cluster.happen(ev)
	}
}
