package sim

import "time"

// hand is what package residence has done to a context: the agent's hand. Before and after what
// changes something the agent may be killed.
type hand struct{ c *sharedContext }

func (h hand) act(what string) { h.c.host().act(what) }

func (h hand) Guarded(f func()) {
	h.act("before a step")
	f()
	h.c.after(h.c.agent)
	if h.c.end.ruined && h.c.agent.Damage() != nil {
		h.c.release()
	}
	h.act("after a step")
}

func (h hand) Revoke()  { h.c.img.Revoke() }
func (h hand) Restore() { h.c.img.Restore() }

func (h hand) Take(time.Duration, int64) error {
	h.act("taking the lock")
	return h.c.agent.Take(0)
}

func (h hand) Leave() {
	h.act("giving the lock")
	h.c.agent.Leave()
	h.c.given()
}

func (h hand) Flush(now int64) {
	if !h.c.agent.Flushed() {
		h.c.end.w.res.Unanswered++
	}
	h.c.agent.Flush(now)
	h.act("flushing")
}

func (h hand) Flushed() bool { return h.c.agent.Flushed() }

func (h hand) Suspend(now int64) {
	c := h.c
	c.clean = c.member.Context.Flushed()
	h.act("leaving")
	accepted := uint64(0)
	if !c.end.ruined {
		accepted = c.Usage().Accepted
	}
	c.end.left(accepted)
	c.agent.Suspend(now)
	h.act("having left")
}

func (h hand) Resume(now int64) {
	c := h.c
	c.end.w.checkComes(c.end)
	c.agent.Resume(now)
	c.end.away, c.clean = false, false
	h.act("coming back")
}

func (h hand) Follow() {
	h.c.agent.Follow()
	h.act("having followed")
}

func (h hand) Away() bool { return h.c.img.Away() }

func (h hand) Drive(now int64) int64 {
	for range rounds {
		if !h.c.agent.Drive(now) {
			break
		}
	}
	h.c.after(h.c.agent)
	return now
}

func (h hand) Due() int64 { return h.c.agent.Due() }

// CheckAt and Await make the agent check at that time; of two times the earlier one counts.
func (h hand) CheckAt(at int64) {
	c, w := h.c, h.c.end.w
	if at = max(at, w.now+1); c.lookAt == 0 || at < c.lookAt {
		c.lookAt = at
		w.queue.add(at, evLook, c.end.index, 0)
	}
}

func (h hand) Await(at int64) { h.CheckAt(at) }

// Back lets the usual driver of the context check it.
func (h hand) Back(now int64) {
	c := h.c
	c.retryAt, c.lookAt = 0, 0
	c.given()
	c.end.w.queue.add(now+1, evLook, c.end.index, 0)
}
