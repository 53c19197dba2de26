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
