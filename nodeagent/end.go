package nodeagent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/switcher"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
)

const (
	// killAlone is how long a steward has for a kill before the agent kills,
	// too, and again: the kernel takes milliseconds. A steward whose rank was
	// frozen while it was being forked can do nothing until that rank goes on, or
	// ends; on a busy machine the rank may be forked late.
	killAlone = 50 * time.Millisecond
	// killPatience is how long a steward may take to report the end of the job,
	// before it is ended itself.
	killPatience = 3 * time.Second
	// killAttempt bounds one attempt to end all processes of a container.
	killAttempt = 2 * time.Second
	// killPause is the time between two attempts. A process that the kernel does
	// not let go, as on a dead file system, can take for ever.
	killPause = time.Second
)

// kill ends the job here, whatever it is doing; NodeDone tells when it is over.
func (j *job) kill(reason string) {
	j.mu.Lock()
	first := !j.killed
	j.killed = true
	steward := j.steward
	if j.done != nil {
		// Asked again: the leader may not have heard, or the job never started.
		j.agent.link.Send(j.done)
	}
	over := j.done != nil
	if j.unstage != nil {
		j.unstage()
	}
	j.mu.Unlock()
	if over {
		return
	}
	if steward != nil {
		_ = steward.Kill() // a steward that is gone ends the job, too
	}
	if first {
		j.agent.log.Debug("job is killed", zap.Uint64("job", j.id), zap.String("reason", reason))
		j.agent.workers.Go(j.escalate)
	}
}

// escalate ends the job without its steward's help when that takes too long.
func (j *job) escalate() {
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		if j.overWithin(killAlone) {
			return
		}
		if steward := j.stewardOf(); steward != nil {
			_ = steward.Container.Kill(time.Now().Add(killAlone)) // what is left is next time's
		}
	}
	steward := j.stewardOf()
	if steward == nil {
		return // claiming one is bounded, and then finds the job killed
	}
	j.agent.log.Warn("a steward does not end its job", zap.Uint64("job", j.id), zap.Int("steward", steward.Pid()))
	_ = steward.Container.Kill(time.Now().Add(killAttempt))
	if !j.overWithin(killPatience) {
		steward.KillProcess() // stewardGone does the rest
	}
}

func (j *job) overWithin(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-j.over:
		return true
	case <-timer.C:
		return false
	}
}

// finish reports that no process of the job is left here.
func (j *job) finish(usage *scorev1.Usage) { j.end(usage, true) }

// end is told once; report says whether to tell the leader unasked.
func (j *job) end(usage *scorev1.Usage, report bool) {
	if usage == nil {
		usage = &scorev1.Usage{}
	}
	j.addSwitching(usage)
	usage.Messages, usage.Fences = j.messages(lastWord), j.metFences()
	j.dropFiles()
	j.dropDir()                             // last: an agent that finds it knows that there may be files
	_ = failpoint.Hit(failpoint.DoneReport) // cannot fail
	j.mu.Lock()
	if j.done != nil {
		j.mu.Unlock()
		return
	}
	j.done = &scorev1.AgentMessage{Message: &scorev1.AgentMessage_NodeDone{NodeDone: &scorev1.NodeDone{JobId: j.id, Usage: usage, Start: j.start}}}
	if report || j.killed {
		j.tellLocked(j.done, true)
	}
	close(j.over)
	j.mu.Unlock()
	j.closeChannels()
	j.settled()
	j.agent.log.Info("job is over", zap.Uint64("job", j.id),
		zap.Duration("cpu", time.Duration(usage.GetCpuNanos())), zap.Duration("ran", time.Duration(usage.GetRunNanos())))
}

// addSwitching takes the job from the switching thread and adds what only that
// knows. Afterwards the thread does not touch the job's container.
func (j *job) addSwitching(usage *scorev1.Usage) {
	var answer <-chan switcher.Usage
	j.current(func(s *switcher.Switcher, id ctxswitch.JobID) { answer = s.Remove(id) })
	if answer == nil {
		return
	}
	setUsage(usage, <-answer)
}

func setUsage(to *scorev1.Usage, from switcher.Usage) {
	to.RunNanos = from.Ran.Nanoseconds()
	to.Slices = from.Slices
	to.LateFreezes = from.LateFreezes
	to.SwitchNanos = from.Switching.Nanoseconds()
}

// forget lets a job go: its end is committed, or the leader never had it. One
// that still runs is ended.
func (a *Agent) forget(id uint64) {
	j := a.jobs.forget(id)
	if j == nil {
		a.unstage(id)
		return
	}
	j.mu.Lock()
	// Ordered now, for the leader may give the number out again: a job that was
	// put back into the queue.
	removed := a.switcher.Remove(ctxswitch.JobID(id))
	j.forgotten, j.killed = true, true
	if !j.isOver() {
		a.endings.add(id, j.over)
	}
	j.kept = nil
	j.mu.Unlock()
	a.unstage(id)
	j.cancel()
	j.withChannels((*dataplane.Job).Over)
	a.workers.Go(func() {
		defer a.jobs.left(j)
		<-removed
		j.retire()
	})
}

// retire gives back what the job had, once its last output has been read.
func (j *job) retire() {
	j.settled()
	<-j.claimed
	steward := j.stewardOf()
	if steward == nil {
		return
	}
	if !j.isOver() {
		_ = steward.Kill()
		j.escalate()
	}
	if j.keeper != nil {
		j.keeper.close()
	}
	j.agent.pool.Retire(j.agent.working, steward, j.reading)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
