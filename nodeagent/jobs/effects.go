package jobs

import (
	"cmp"
	"score/ctxswitch"
	"score/nodeagent/jobstate"
	"score/nodeagent/stewardpool"
	"score/scored/api/agentpb"
	"score/scored/failpoint"
	"time"

	"go.uber.org/zap"
)

const (
	// killAttempt bounds one attempt to end all processes of a container.
	killAttempt = 2 * time.Second
	// killPause is the time between two attempts. A process that is stuck in the kernel, as on a
	// dead file system, may never end.
	killPause = time.Second
)

// step gives the machine an event and applies its effects.
func (j *Job) step(event jobstate.Event) {
	j.mu.Lock()
	effects := j.state.Step(time.Now(), event)
	for _, e := range effects {
		j.applyNow(e)
	}
	j.mu.Unlock()
	for _, e := range effects {
		j.apply(e)
	}
}

// applyNow applies an effect in the order of the events, without waiting. The caller holds mu.
func (j *Job) applyNow(effect jobstate.Effect) {
	switch effect {
	case jobstate.Switch:
		job := j.switcherJob(j.steward)
		job.NotPlannedYet = true // the leader plans a job when all of its nodes have prepared it
		j.handle = j.options.Switcher.Add(job)
	case jobstate.Unswitch:
		j.removed = j.options.Switcher.Remove(ctxswitch.JobID(j.id))
		j.outbox.Close()
	case jobstate.NoteEnding:
		j.jobs.endings.Add(j.id, j.order.GetUser().GetUid(), j.over)
	case jobstate.StopStaging:
		if j.unstage != nil {
			j.unstage()
		}
	case jobstate.ReportDone:
		j.outbox.Keep(j.done)
	case jobstate.RepeatDone:
		j.options.Leader.Send(j.done)
	case jobstate.End:
		close(j.over)
	default: // see apply
	}
}

// apply applies an effect that may wait. Errors of a lost steward are ignored, since its loss ends
// the job, too.
func (j *Job) apply(effect jobstate.Effect) {
	steward := j.stewardOf()
	switch effect {
	case jobstate.Watch:
		j.watches.Add(1)
		j.options.Go(j.watchKill)
	case jobstate.KillSteward:
		j.withSteward(j.killSteward)
	case jobstate.KillQuickly:
		_ = steward.Container.Kill(time.Now().Add(jobstate.KillAlone)) // the next attempt kills the rest
	case jobstate.KillPatiently:
		j.options.Logger.Warn("a steward does not end its job", zap.Uint64("job", j.id), zap.Int("steward", steward.Pid()))
		_ = steward.Container.Kill(time.Now().Add(killAttempt)) // as above
	case jobstate.EndSteward:
		steward.KillProcess()
	case jobstate.ReportLoss:
		j.abort(j.lossReason(), "look at the agent's log there and submit the job again")
	case jobstate.Sweep:
		j.sweep()
	case jobstate.ReportKilled:
		j.reportKilled()
	case jobstate.Clear:
		j.clear()
	case jobstate.End:
		j.closeChannels()
		j.endLaunch()
	case jobstate.Retire:
		close(j.retired)
	default: // see applyNow
	}
}

// kill ends the job here in any phase; NodeDone reports its end.
func (j *Job) kill(reason string) {
	j.options.Logger.Debug("job is killed", zap.Uint64("job", j.id), zap.String("reason", reason))
	j.mu.Lock()
	j.reason = cmp.Or(j.reason, reason)
	j.mu.Unlock()
	j.step(jobstate.Kill)
}

// killSteward orders the steward to kill the job. The reason goes with each such order, since the
// steward may not have had the job at the first.
func (j *Job) killSteward(steward *stewardpool.Steward) error {
	if reason := j.killReason(); reason != "" {
		if err := steward.Reason(reason); err != nil {
			return err
		}
	}
	return steward.Kill()
}

// killReason returns why the job was killed; "": it was not, or no reason was given.
func (j *Job) killReason() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.reason
}

// stopStaging cancels the fetch of the job's files, if that has begun.
func (j *Job) stopStaging() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.applyNow(jobstate.StopStaging)
}

// watchKill ticks the machine, which ends the job without its steward when that takes too long.
func (j *Job) watchKill() {
	defer j.watches.Done()
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

// rankExited records that the end of a rank was reported.
func (j *Job) rankExited(rank uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Exited(rank)
}

// clear removes the job's files and channels after its last process.
func (j *Job) clear() {
	usage := j.account.Usage()
	j.addSwitching(usage)
	usage.Messages, usage.Fences = j.messages(allContexts), j.account.Fences()
	j.owned.Remove()
	_ = failpoint.Hit(failpoint.DoneReport) // cannot fail
	j.mu.Lock()
	done := &agentpb.NodeDone{JobId: j.id, Usage: usage, Start: j.account.Start()}
	j.done = &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: done}}
	j.mu.Unlock()
	j.step(jobstate.Cleared)
	j.options.Logger.Info("job is over", zap.Uint64("job", j.id),
		zap.Duration("cpu", time.Duration(usage.GetCpuNanos())), zap.Duration("ran", time.Duration(usage.GetRunNanos())))
}

// retire returns the steward to the pool after its last output was read. It waits for a kill that
// is under way, since the steward's container may be another job's afterwards, and for the memory
// of the job's channels, which is charged to that container: with it, the pool would not keep the
// steward.
func (j *Job) retire() {
	<-j.claimed
	j.watches.Wait()
	steward := j.stewardOf()
	if steward == nil {
		return
	}
	if j.spares != nil {
		j.spares.close()
	}
	j.awaitNoChannels()
	j.options.Pool.Retire(j.options.Running, steward, func() bool { return j.readers.Load() > 0 })
}
