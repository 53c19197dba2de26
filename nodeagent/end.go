package nodeagent

import (
	"context"
	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/jobstate"
	"score/nodeagent/switcher"
	"score/nodeagent/wait"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"time"

	"go.uber.org/zap"
)

const (
	// killAttempt bounds one attempt to end all processes of a container.
	killAttempt = 2 * time.Second
	// killPause is the time between two attempts. A process that the kernel does
	// not let go, as on a dead file system, can take for ever.
	killPause = time.Second
)

// step gives the machine an event and carries its effects out.
func (j *job) step(event jobstate.Event) {
	j.mu.Lock()
	effects := j.state.Step(time.Now(), event)
	for _, e := range effects {
		j.post(e)
	}
	j.mu.Unlock()
	for _, e := range effects {
		j.carryOut(e)
	}
}

// post carries out an effect that must come in the order of the events; it waits for nothing. The
// caller holds mu.
func (j *job) post(effect jobstate.Effect) {
	switch effect {
	case jobstate.Switch:
		j.handle = j.agent.switcher.Add(j.switched(j.steward))
	case jobstate.Unswitch:
		j.removed = j.agent.switcher.Remove(ctxswitch.JobID(j.id))
		j.outbox.Close()
	case jobstate.NoteEnding:
		j.agent.endings.Add(j.id, j.over)
	case jobstate.StopStaging:
		if j.unstage != nil {
			j.unstage()
		}
	case jobstate.ReportDone:
		j.outbox.Send(j.done, true)
	case jobstate.RepeatDone:
		j.agent.link.Send(j.done)
	case jobstate.End:
		close(j.over)
	default: // carryOut does it
	}
}

// carryOut carries out an effect that may wait. What the steward does not take, as it is gone, ends
// the job, too.
func (j *job) carryOut(effect jobstate.Effect) {
	steward := j.stewardOf()
	switch effect {
	case jobstate.Watch:
		j.agent.workers.Go(j.watchKill)
	case jobstate.KillSteward:
		_ = steward.Kill()
	case jobstate.KillQuickly:
		_ = steward.Container.Kill(time.Now().Add(jobstate.KillAlone)) // what is left is next time's
	case jobstate.KillPatiently:
		j.agent.log.Warn("a steward does not end its job", zap.Uint64("job", j.id), zap.Int("steward", steward.Pid()))
		_ = steward.Container.Kill(time.Now().Add(killAttempt))
	case jobstate.EndSteward:
		steward.KillProcess() // stewardGone does the rest
	case jobstate.ReportLoss:
		j.abort(j.loss() + "; look at the agent's log there and submit the job again")
	case jobstate.Sweep:
		j.sweep()
	case jobstate.ReportKilled:
		j.reportKilled()
	case jobstate.Clear:
		j.clear()
	case jobstate.End:
		j.closeChannels()
		j.settled()
	case jobstate.Retire:
		close(j.retired)
	default: // post has done it
	}
}

// kill ends the job here, whatever it is doing; NodeDone tells when it is over.
func (j *job) kill(reason string) {
	j.agent.log.Debug("job is killed", zap.Uint64("job", j.id), zap.String("reason", reason))
	j.step(jobstate.Kill)
}

// watchKill ends the job without its steward's help when that takes too long.
func (j *job) watchKill() {
	for {
		j.mu.Lock()
		at := j.state.Deadline()
		j.mu.Unlock()
		if at.IsZero() || j.overWithin(time.Until(at)) {
			return
		}
		j.step(jobstate.Tick)
	}
}

func (j *job) overWithin(patience time.Duration) bool {
	over, _ := wait.Within(context.Background(), j.over, patience) // the context does not end
	return over
}

// exited notes that the end of a rank is reported.
func (j *job) exited(rank uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Exited(rank)
}

// clear removes what the job has here, once no process of it is left.
func (j *job) clear() {
	usage := j.account.Usage()
	j.addSwitching(usage)
	usage.Messages, usage.Fences = j.messages(lastWord), j.account.Fences()
	j.owned.Remove()
	_ = failpoint.Hit(failpoint.DoneReport) // cannot fail
	j.mu.Lock()
	j.done = &scorev1.AgentMessage{Message: &scorev1.AgentMessage_NodeDone{NodeDone: &scorev1.NodeDone{JobId: j.id, Usage: usage, Start: j.account.Start()}}}
	j.mu.Unlock()
	j.step(jobstate.Cleared)
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
	j := a.jobs.Forget(id)
	if j == nil {
		a.files.Release(id)
		return
	}
	j.step(jobstate.Forget)
	a.files.Release(id)
	j.cancel()
	j.settled()
	j.withChannels((*dataplane.Job).Over)
	a.workers.Go(func() {
		defer a.jobs.Left(j)
		<-j.removed
		<-j.retired
		j.retire()
	})
}

// retire gives back what the job had, once its last output has been read.
func (j *job) retire() {
	<-j.claimed
	steward := j.stewardOf()
	if steward == nil {
		return
	}
	if j.keeper != nil {
		j.keeper.close()
	}
	j.agent.pool.Retire(j.agent.working, steward, func() bool { return j.readers.Load() > 0 })
}
