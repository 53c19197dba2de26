package node

import (
	"score/channels"
	"score/channels/abi"
	"score/flowctl"
	"slices"
	"time"
)

// What package residence decides about the contexts of a job, the loop does here.

// settleLater is the delay after a step until the work that nobody waits for is done: longer than
// the rest of a switch usually takes.
const settleLater = int64(300 * time.Microsecond)

// startOrder begins the step that was ordered.
func (l *loop) startOrder(j *Job, step Step, number uint64, by int64) {
	if !j.residence.Awaited() {
		l.switching = append(l.switching, j)
	}
	now := channels.Nanos()
	j.residence.Order(now, step, number, by)
	if !slices.Contains(l.unsettled, j) {
		l.unsettled = append(l.unsettled, j)
	}
	l.settleBy = min(l.settleBy, now+settleLater)
}

// settle does the work that orders have left for later.
func (l *loop) settle() {
	if len(l.unsettled) == 0 {
		return
	}
	now := channels.Nanos()
	for _, j := range l.unsettled {
		j.residence.Settle(now)
	}
	clear(l.unsettled)
	l.unsettled, l.settleBy = l.unsettled[:0], flowctl.NoDeadline
	l.makeRoom()
}

// checkOff checks a context of a job that is not on.
func (l *loop) checkOff(c *Context, now int64, readable bool) {
	if c.job.residence.Check(now, &c.residing) {
		l.drive(c, turn{began: now, readable: readable})
	}
	l.progress(c.job)
}

// reportSwitches collects the steps that are over.
func (l *loop) reportSwitches() {
	for _, j := range slices.Clone(l.switching) {
		l.progress(j)
	}
}

// end is the outcome of a job's step.
type end struct {
	job *Job
	out Outcome
}

func report(ends []end) {
	for _, e := range ends {
		e.job.done(e.out)
	}
}

// progress collects the end of a job's step, if it is over. The receiver of a flush's end orders
// the next step, so ends are reported after the lock is free.
func (l *loop) progress(j *Job) {
	switch out, over := l.outcome(j); {
	case !over || j.done == nil:
	case out.Step == StepFlush:
		l.ends = append(l.ends, end{j, out})
	default:
		j.done(out)
	}
}

// outcome returns, once, the outcome of a job's step.
func (l *loop) outcome(j *Job) (out Outcome, over bool) {
	if !j.residence.Awaited() {
		return out, false
	}
	if out, over = j.residence.Outcome(channels.Nanos()); over {
		l.switching = slices.DeleteFunc(l.switching, func(other *Job) bool { return other == j })
	}
	return out, over
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

// guarded calls f with a context, which is dropped if the image faults.
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
	if r.loop().inline {
		share = 0
	}
	if err := c.driver.Take(max(0, min(share, time.Duration(until-channels.Nanos())))); err != nil {
		return err
	}
	c.holding, c.refused, c.spuriousWakes, c.idleChecks = true, 0, 0, 0
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
	l := r.loop()
	l.drives++
	if l.inline {
		r.c.driver.Drive(now) // the rest is the loop's
	} else {
		rounds(r.c, now)
	}
	return channels.Nanos()
}

func (r resident) CheckAt(at int64) { r.loop().at(r.c, at) }

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
