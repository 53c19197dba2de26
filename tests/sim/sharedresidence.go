package sim

import "time"

// residenceContext is a context as package residence sees it. The agent may be killed before and
// after each change.
type residenceContext struct{ c *sharedContext }

func (h residenceContext) act(what string) { h.c.host().act(what) }

func (h residenceContext) Guarded(f func()) {
	h.act("before a step")
	f()
	h.c.after(h.c.agent)
	if h.c.end.ruined && h.c.agent.Damage() != nil {
		h.c.release()
	}
	h.act("after a step")
}

func (h residenceContext) Revoke()  { h.c.img.Revoke() }
func (h residenceContext) Restore() { h.c.img.Restore() }

func (h residenceContext) Take(time.Duration, int64) error {
	h.act("taking the lock")
	return h.c.agent.Take(0)
}

func (h residenceContext) Leave() {
	h.act("giving the lock")
	h.c.agent.Leave()
	h.c.given()
}

func (h residenceContext) Flush(now int64) {
	if !h.c.agent.Flushed() {
		h.c.end.w.res.Unanswered++
	}
	h.c.agent.Flush(now)
	h.act("flushing")
}

func (h residenceContext) Flushed() bool { return h.c.agent.Flushed() }

func (h residenceContext) Suspend(now int64) {
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

func (h residenceContext) Resume(now int64) {
	c := h.c
	c.end.w.checkComes(c.end)
	c.agent.Resume(now)
	c.end.away, c.clean = false, false
	h.act("coming back")
}

func (h residenceContext) Follow() {
	h.c.agent.Follow()
	h.act("having followed")
}

func (h residenceContext) Away() bool { return h.c.img.Away() }

func (h residenceContext) Drive(now int64) int64 {
	for range rounds {
		if !h.c.agent.Drive(now) {
			break
		}
	}
	h.c.after(h.c.agent)
	return now
}

func (h residenceContext) Due() int64 { return h.c.agent.Due() }

// CheckAt and Await make the agent check at that time; of two times the earlier one counts.
func (h residenceContext) CheckAt(at int64) {
	c, w := h.c, h.c.end.w
	if at = max(at, w.now+1); c.lookAt == 0 || at < c.lookAt {
		c.lookAt = at
		w.queue.add(at, evCheck, c.end.index, 0)
	}
}

func (h residenceContext) Await(at int64) { h.CheckAt(at) }

// Back lets the usual driver of the context check it.
func (h residenceContext) Back(now int64) {
	c := h.c
	c.retryAt, c.lookAt = 0, 0
	c.given()
	c.end.w.queue.add(now+1, evCheck, c.end.index, 0)
}
