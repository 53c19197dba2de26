package node

import (
	"score/channels"
	"score/flowctl"
	"sync/atomic"
)

// A job whose processes stand still may keep its contexts on their channels. The loop then leaves
// them alone: whatever comes waits in their sockets, and a process in the middle of a section may
// hold the driver lock. So a switch costs a freeze and a thaw, as for a program that uses the
// kernel's sockets.

// pause records whether a job's processes were ordered to stand still, and which contexts the loop
// leaves alone for that.
type pause struct {
	ordered atomic.Bool
	resting atomic.Bool
	rests   []*Context // the loop's
}

// Pause reports that the job's processes were ordered to stand still. It neither waits nor
// allocates nor takes a lock; one goroutine uses Order, Pause and Resume.
func (j *Job) Pause() { j.pause.ordered.Store(true) }

// Resume reports that they run again. It does what the switch has left for later; it does not wait.
func (j *Job) Resume() {
	j.pause.ordered.Store(false)
	l := j.node.loop
	if !l.tryAcquire() {
		if j.pause.resting.Load() {
			l.queueOrder(j)
		}
		return
	}
	defer l.releaseWork()
	l.settle()
	if len(j.pause.rests) > maxInlineContexts {
		l.queueOrder(j)
		return
	}
	l.resume(j)
}

// leaveAlone lets a context rest if its job's processes stand still, and reports whether it does.
func (l *loop) leaveAlone(c *Context, now int64) bool {
	p := &c.job.pause
	if !p.ordered.Load() || c.job.released {
		return false
	}
	if c.ending.sent == 0 {
		c.ending.since = 0 // what was sent before goes on arriving when it goes on
	}
	c.mode.Store(modePaused)
	if c.driven >= calmChecks {
		if drives := c.img.Drives(); drives != c.drives {
			c.drives, c.paused = drives, 0 // it has run, and polled, since the last check
		}
		if c.paused < maxPausedCheck {
			step := c.pace()
			c.paused += step
			l.at(c, nextTick(now, step))
			return true // checked again without Resume
		}
	}
	p.resting.Store(true)
	if !p.ordered.Load() {
		return false // Resume may not have seen that anything rests
	}
	l.at(c, flowctl.NoDeadline)
	if !c.rests {
		c.rests = true
		p.rests = append(p.rests, c)
	}
	return true
}

// resume watches the contexts again that were left alone.
func (l *loop) resume(j *Job) {
	p := &j.pause
	if p.ordered.Load() || !p.resting.Swap(false) {
		return
	}
	now := channels.Nanos()
	for _, c := range p.rests {
		c.rests = false
		if !j.residence.Off() {
			l.guarded(c, func() { resident{c}.Back(now) })
		}
	}
	clear(p.rests)
	p.rests = p.rests[:0]
}
