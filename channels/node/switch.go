package node

import (
	"slices"
	"time"

	"score/channels"
	"score/channels/abi"
)

const (
	// claimPatience bounds the wait for the driver locks of a job that is being revoked, all
	// together: a process in the middle of a section may have lost its processor to the loop.
	claimPatience = 200 * time.Microsecond
	// strikesMost bounds how often the time for revoking is halved.
	strikesMost = 5
	// claimAgain is the wait until the next try.
	claimAgain = int64(20 * time.Microsecond)
	// flushGap is the shortest time between two looks at a context that is flushed, unless something comes.
	flushGap = int64(50 * time.Microsecond)
)

// stage is how far a context is in leaving its channel.
type stage uint8

const (
	stageHere     stage = iota // its process drives, or the agent in its place
	stageWanted                // the process is to let go of the driver lock
	stageHeld                  // the agent keeps the lock
	stageFlushing              // and sends nothing more, but waits for answers
	stageFlushed               // all has been answered
	stageAway                  // it refuses all that comes
)

// residence is how far a job's contexts are in leaving their channels. The loop's.
type residence struct {
	contexts []*Context // those that the loop has
	off      bool       // the job's processes are not to drive
	leaving  bool       // the job is being removed: nothing is switched any more
	word     uint64     // the order that was taken last
	step     Step
	number   uint64
	by       int64
	began    int64
	awaited  bool // the order's end is to be reported
	strikes  int  // switches in a row at which a process did not let go of the lock, up to strikesMost
	saved    Outcome
}

// obey begins with an order.
func (l *loop) obey(j *Job, step Step, number uint64, by int64) {
	r, now := &j.residence, channels.Nanos()
	if step == StepRevoke && by > now {
		by = now + (by-now)>>r.strikes // the next gang does not wait again and again for who never lets go
	}
	r.step, r.number, r.by, r.began = step, number, by, now
	if !r.awaited {
		r.awaited = true
		l.switching = append(l.switching, j)
	}
	if !r.leaving {
		r.saved = Outcome{}
		r.off = step != StepLoad
		l.follow(r, now)
	}
	l.progress(j, now)
}

// follow brings all contexts to where the job's step wants them. All are revoked before the first is
// waited for.
func (l *loop) follow(r *residence, now int64) {
	all := slices.Clone(r.contexts) // one that cannot be used drops out
	if r.off {
		for _, c := range all {
			l.guarded(c, func() { c.img.Revoke() })
		}
	}
	for _, c := range all {
		l.guarded(c, func() { l.advance(c, now) })
	}
}

// guarded does something with a context, which is given up if that fails.
func (l *loop) guarded(c *Context, f func()) {
	if c.number == 0 || c.damaged.Load() {
		return
	}
	err := channels.Guard(f)
	if err == nil {
		err = c.driver.Damage()
	}
	if err != nil {
		l.abandon(c, err)
	}
}

// advance brings a context to where its job's step wants it, as far as that goes now.
func (l *loop) advance(c *Context, now int64) {
	r := &c.job.residence
	if !r.off {
		l.bringBack(c, now)
		return
	}
	if !l.claim(c, now) {
		return
	}
	if r.step >= StepFlush && c.stage == stageHeld {
		c.stage = stageFlushing
		c.driver.Flush(now)
		if r.step == StepFlush {
			l.flush(c, now)
		}
	}
	if r.step == StepSave && c.stage != stageAway {
		l.suspend(c, now)
	}
}

// claim takes the driver lock and keeps it. While its holder, who lives, does not let go, the context
// is left alone.
func (l *loop) claim(c *Context, now int64) bool {
	if c.kept() {
		return true
	}
	c.mode.Store(modeDriven)
	r, wait := &c.job.residence, claimAgain
	if err := c.driver.Take(c.patience(channels.Nanos())); err != nil { // which leaves the lock revoked
		c.stage = stageWanted
		if !r.awaited {
			wait = tick << min(c.refused, lockBackoffs)
			c.refused++
		}
		l.at(c, now+wait)
		return false
	}
	c.holding, c.stage, c.refused, c.vain, c.looks = true, stageHeld, 0, 0, 0
	l.at(c, now)
	return true
}

// patience is how long to wait for the next driver lock. Who has not let go when the time for all
// is over is stopped, or does not want to, and the loop has others to serve.
func (c *Context) patience(now int64) time.Duration {
	r := &c.job.residence
	if !r.awaited || r.step != StepRevoke && c.stage == stageWanted {
		return 0
	}
	left := claimPatience - time.Duration(now-r.began)
	return max(0, min(left, max(lockPatience, claimPatience/time.Duration(len(r.contexts)))))
}

// kept says that the agent has the lock beyond a turn.
func (c *Context) kept() bool { return c.stage >= stageHeld }

// flush drives a context that waits for answers, until it has them.
func (l *loop) flush(c *Context, now int64) {
	l.drives++
	rounds(c, now)
	if c.driver.Flushed() {
		c.stage = stageFlushed
	}
	after := channels.Nanos()
	l.arm(c)
	l.at(c, max(min(c.driver.Due(), c.job.residence.by), after+flushGap))
	c.due = after // a look drives
}

// suspend takes a context from its channel.
func (l *loop) suspend(c *Context, now int64) {
	saved := &c.job.residence.saved
	if c.driver.Flushed() {
		saved.Flushed++
	} else {
		saved.CutOff++
	}
	c.driver.Suspend(now)
	c.stage = stageAway
	l.arm(c)
	c.due = now
	l.at(c, now+tick) // one turn, for the answers that are due
}

// bringBack gives a context back to its process.
func (l *loop) bringBack(c *Context, now int64) {
	switch was := c.stage; was {
	case stageHere:
		return
	case stageWanted:
		c.stage = stageHere
		c.img.Restore()
	default:
		if was > stageHeld {
			c.driver.Resume(now)
		}
		c.stage = stageHere
		c.leave()
	}
	c.late, c.drives = false, c.img.Drives()
	l.watchAgain(c, now, tick)
	if c.img.State() != abi.StateOpen {
		l.hurry(c)
	}
}

// attend looks at a context of a job that is not on.
func (l *loop) attend(c *Context, now int64, heard bool) {
	if !c.kept() {
		l.advance(c, now)
	}
	switch {
	case !c.kept():
	case c.stage == stageFlushing:
		l.flush(c, now)
	default:
		l.drive(c, now, heard, false)
	}
	l.progress(c.job, now)
}

// lookAtSwitches reports the steps whose time is over.
func (l *loop) lookAtSwitches(now int64) {
	for _, j := range slices.Clone(l.switching) {
		l.progress(j, now)
	}
}

// progress reports a job's step, if it is at its end.
func (l *loop) progress(j *Job, now int64) {
	r := &j.residence
	if !r.awaited || now < r.by && r.busy() {
		return
	}
	r.awaited = false
	l.switching = slices.DeleteFunc(l.switching, func(other *Job) bool { return other == j })
	out := r.saved
	out.Step, out.Number, out.Took = r.step, r.number, time.Duration(channels.Nanos()-r.began)
	out.Contexts = len(r.contexts)
	for _, c := range r.contexts {
		if c.stage == stageWanted {
			out.Held++
		}
	}
	switch {
	case out.Step != StepSave:
	case out.Held > 0:
		r.strikes = min(r.strikes+1, strikesMost)
	default:
		r.strikes = 0
	}
	if j.done != nil {
		j.done(out)
	}
}

// busy says that the step waits for a context.
func (r *residence) busy() bool {
	return slices.ContainsFunc(r.contexts, func(c *Context) bool {
		return r.step == StepRevoke && c.stage == stageWanted || r.step == StepFlush && c.stage == stageFlushing
	})
}

// release ends all switching of a job that is being removed: what its ranks sent last is still to arrive.
func (l *loop) release(j *Job) {
	l.do(func() {
		r := &j.residence
		r.off, r.leaving, r.step = false, true, StepLoad
		now := channels.Nanos()
		l.follow(r, now)
		l.progress(j, now)
	})
}
