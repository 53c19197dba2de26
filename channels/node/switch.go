package node

import (
	"score/channels"
	"score/channels/abi"
	"slices"
	"time"
)

// What package residence decides about the contexts of a job, the loop does here.

// startOrder begins with an order.
func (l *loop) startOrder(j *Job, step Step, number uint64, by int64) {
	if !j.residence.Awaited() {
		l.switching = append(l.switching, j)
	}
	now := channels.Nanos()
	defer l.makeRoom()
	j.residence.Order(now, step, number, by)
	l.progress(j)
	j.residence.Settle(now)
}

// checkOff looks at a context of a job that is not on.
func (l *loop) checkOff(c *Context, now int64, heard bool) {
	if c.job.residence.Check(now, &c.residing) {
		l.drive(c, now, heard, false)
	}
	l.progress(c.job)
}

// lookAtSwitches reports the steps that are over.
func (l *loop) lookAtSwitches() {
	for _, j := range slices.Clone(l.switching) {
		l.progress(j)
	}
}

// progress reports a job's step, if it is at its end.
func (l *loop) progress(j *Job) {
	if !j.residence.Awaited() {
		return
	}
	out, over := j.residence.Outcome(channels.Nanos())
	if !over {
		return
	}
	l.switching = slices.DeleteFunc(l.switching, func(other *Job) bool { return other == j })
	if j.done != nil {
		j.done(out)
	}
}

// release ends all switching of a job that is being removed.
func (l *loop) release(j *Job) {
	l.do(func() {
		now := channels.Nanos()
		j.released = true
		j.pause.ordered.Store(false)
		j.residence.Release(now)
		l.progress(j)
		j.residence.Settle(now)
		l.resume(j)
	})
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

// resident is a context as package residence has it.
type resident struct{ c *Context }

func (r resident) loop() *loop { return r.c.job.node.loop }

func (r resident) Guarded(f func()) { r.loop().guarded(r.c, f) }
func (r resident) Revoke()          { r.c.img.Revoke() }
func (r resident) Restore()         { r.c.img.Restore() }

func (r resident) Take(share time.Duration, until int64) error {
	c := r.c
	c.mode.Store(modeDriven)
	if err := c.driver.Take(max(0, min(share, time.Duration(until-channels.Nanos())))); err != nil {
		return err
	}
	c.holding, c.refused, c.vain, c.looks = true, 0, 0, 0
	return nil
}

func (r resident) Leave() {
	r.c.driver.Leave()
	r.c.holding = false
}

func (r resident) Flush(now int64)  { r.c.driver.Flush(now) }
func (r resident) Flushed() bool    { return r.c.driver.Flushed() }
func (r resident) Resume(now int64) { r.c.driver.Resume(now) }
func (r resident) Follow()          { r.c.driver.Follow() }
func (r resident) Away() bool       { return r.c.img.Away() }
func (r resident) Due() int64       { return r.c.driver.Due() }

func (r resident) Suspend(now int64) {
	r.c.answered.Store(r.c.driver.Settled())
	r.c.driver.Suspend(now)
}

func (r resident) Drive(now int64) (after int64) {
	r.loop().drives++
	rounds(r.c, now)
	return channels.Nanos()
}

func (r resident) LookAt(at int64) { r.loop().at(r.c, at) }

func (r resident) Await(at int64) {
	r.loop().arm(r.c)
	r.loop().at(r.c, at)
}

func (r resident) Back(now int64) {
	c := r.c
	c.late, c.drives = false, c.img.Drives()
	r.loop().watchAgain(c, now, tick)
	if c.img.State() != abi.StateOpen {
		r.loop().scheduleNow(c)
	}
}
