package sim

import "fmt"

// recount counts the messages among live ends that were not received.
func (w *world) recount() {
	w.missing = 0
	for _, e := range w.ends {
		for i := range e.flows {
			if f := &e.flows[i]; !e.dead && !w.peer(e, f.to).gone() {
				w.missing += f.left + int(f.next-w.peer(e, f.to).got[e.spec.Rank])
			}
		}
	}
}

// done reports whether everything is delivered and acknowledged, or its failure was reported.
func (w *world) done() bool {
	if w.cluster != nil {
		return w.cluster.finished()
	}
	return w.missing == 0 && w.unfinished() == ""
}

// unfinished names something that is not delivered or acknowledged, and whose failure was not
// reported.
func (w *world) unfinished() string {
	if w.cluster != nil {
		return w.cluster.unfinished()
	}
	for _, e := range w.ends {
		if e.dead {
			continue
		}
		for i := range e.flows {
			f := &e.flows[i]
			p := w.peer(e, f.to)
			switch {
			case e.ctx.Lost(f.to):
			case f.left > 0:
				return fmt.Sprintf("%v has %d messages for rank %d that it could not send", e, f.left, f.to)
			case !e.ctx.Settled(f.to):
				return fmt.Sprintf("%v has messages for rank %d that are not acknowledged", e, f.to)
			case !p.gone() && p.got[e.spec.Rank] != f.next:
				return fmt.Sprintf("rank %d received %d of %d messages of %v", f.to, p.got[e.spec.Rank], f.next, e)
			}
		}
		for _, rank := range e.notified {
			if !e.ctx.Lost(rank) {
				return fmt.Sprintf("%v was told of the death of rank %d, and its process was not", e, rank)
			}
		}
	}
	return ""
}
