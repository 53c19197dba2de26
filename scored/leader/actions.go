package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"time"

	"go.uber.org/zap"
)

// Actions of step's transitions. Each is idempotent: agents answer a repeated order as they
// answered the first.

// becomeStarting commits the places of a whole gang and orders its preparation.
func (c *controller) becomeStarting(j *job) {
	allocation, ok := c.gang.Allocation(gang.JobID(j.id))
	if !ok {
		return
	}
	c.gang.SetIdle(gang.JobID(j.id), true) // until it is prepared
	places := placesOf(allocation)
	j.state, j.row, j.founder = starting, allocation.Row, allocation.Gang
	j.attempts++
	j.allocated, j.ready = c.now, 0
	j.parts, j.byNode = j.parts[:0:0], nil
	for _, p := range places {
		j.parts = append(j.parts, &part{Place: c.placeOn(p)})
	}
	c.propose(&statepb.Command{Command: &statepb.Command_Allocate{Allocate: &statepb.Allocate{
		JobId: j.id, Row: int32(j.row), Places: places, Gang: uint64(j.founder),
	}}})
	c.setDeadline(j, prepareTimeout+stageTime(j.spec))
	order := c.prepareOrders(j)
	for i := range j.parts {
		c.prepare(j, i, order)
	}
	if len(j.staged) > 0 && j.part(j.staged[0]) == nil {
		c.sendStage(j, 0) // the seed learns which nodes may fetch the files
	}
	c.notifyState(j, "")
	c.sendPlaces(j)
}

// placeOn returns a place with the boot ID of its node.
func (c *controller) placeOn(p *statepb.Place) state.Place {
	place := state.Place{Node: p.GetNode(), Ranks: p.GetRanks(), CPUs: p.GetCpus()}
	if n := c.nodes[place.Node]; n != nil {
		place.BootID = n.bootID
	}
	return place
}

// becomeRunning puts a job into the rotation plan. The plan need not wait for the log: the job's
// places are committed, and the next leader asks the nodes whether they have started it (DESIGN.md,
// "Never run twice").
func (c *controller) becomeRunning(j *job) {
	j.state, j.ready = running, c.now
	c.setDeadline(j, launchTimeout)
	c.gang.SetIdle(gang.JobID(j.id), false)
	c.planDirty = true
	c.stats.Launches++
	c.notifyState(j, "")
}

// onLaunched records that a node has started its ranks.
func (c *controller) onLaunched(j *job, p *part, at int64) {
	p.launched = true
	if j.started != 0 {
		return
	}
	j.started = c.now
	if at > 0 {
		j.started = within(at, j.allocated, c.now)
	}
	if j.graceUntil != 0 {
		j.graceUntil = c.now + c.killWait().Nanoseconds()
	}
	satisfied := c.startDependents(j)
	c.proposeLazily(&statepb.Command{Command: &statepb.Command_MarkRunning{
		MarkRunning: &statepb.MarkRunning{JobId: j.id, StartedNanos: j.started, Met: numbersOf(satisfied)},
	}}, c.now)
	c.letStartAll(satisfied)
	c.log("job started", zap.Uint64("job", j.id), zap.String("user", j.user.GetUser()), zap.Strings("nodes", j.nodeNames()))
}

// markDone records that a node has no process of the job left. After the last node the job is done.
func (c *controller) markDone(j *job, p *part, usage *scorev1.Usage) {
	p.done = true
	if usage != nil {
		p.recordUsage(usage, c.now)
	}
	c.onCutEnd(j, p)
	c.finishIfDone(j)
}

// onNote passes a node's sentence on to the user. It is one line, since a program may have written
// it (PMIx_Log), and a second line would look like a sentence of somebody else. Nobody is attached
// to a detached job whose output files cannot be written, so its end says that output is lost.
func (c *controller) onNote(j *job, p *part, note *agentpb.JobNote) {
	text := oneSentence(note.GetText())
	c.warn(j, text)
	if note.GetOutputLost() && j.unstored == "" {
		j.unstored = fmt.Sprintf("node %s: %s", p.Node, text)
	}
}

// becomeEnding takes the gang out of the plan and orders its nodes to kill it.
func (c *controller) becomeEnding(j *job, v *scorev1.Verdict) {
	j.state, j.verdict = ending, v
	c.forgetIdle(j)
	c.gang.SetIdle(gang.JobID(j.id), true)
	c.planDirty = true
	c.kill(j, v.GetMessage())
	j.killDeadline = c.now + endTimeout.Nanoseconds()
	c.setDeadline(j, killAgain)
	c.notifyState(j, v.GetMessage())
	c.endChildren(j)
}

// kill orders every node that has a part of the job left to kill it.
func (c *controller) kill(j *job, reason string) {
	for _, p := range j.parts {
		if n := c.nodes[p.Node]; n != nil && !p.done {
			c.send(n.link, killMessage(j.id, reason)) // a lost node that is back answers too
		}
	}
}

func killMessage(id uint64, reason string) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Kill{Kill: &agentpb.Kill{JobId: id, Reason: reason}}}
}

// becomeDone commits the verdict and releases the job's resources.
func (c *controller) becomeDone(j *job, v *scorev1.Verdict) {
	if j.again != "" {
		v.Message += "; submit it again"
	}
	j.state, j.verdict, j.ended, j.deadline, j.graceUntil, j.again = done, v, c.now, 0, 0, ""
	c.forgetIdle(j)
	satisfied := c.endDependents(j)
	c.propose(&statepb.Command{Command: &statepb.Command_End{End: &statepb.End{
		JobId: j.id, Verdict: v, Usage: j.usage(), Start: j.startTrace(), Met: numbersOf(satisfied),
	}}})
	c.gang.Remove(gang.JobID(j.id))
	c.letStartAll(satisfied)
	c.placeDirty, c.planDirty = true, true
	c.names.Drop(j.id)
	c.sendPlaces(j)
	c.accounts.remove(j)
	c.stats.Ended[v.GetReason()]++
	c.log("job ended", zap.Uint64("job", j.id), zap.String("user", j.user.GetUser()),
		zap.Stringer("reason", v.GetReason()), zap.Int32("exit_code", v.GetExitCode()))
	c.endChildren(j)
	c.endParent(j)
	c.settleEnd(j)
}

// endChildren ends the jobs that a failed job spawned: they are one program.
func (c *controller) endChildren(j *job) {
	if j.verdict.GetReason() == exited {
		return
	}
	for _, child := range slices.Clone(j.children) {
		c.stop(child, spawnerEnded(j))
	}
}

// spawnerEnded returns the verdict of a job whose spawner has ended.
func spawnerEnded(spawner *job) *scorev1.Verdict {
	return verdict(cancelled, exitEnded, "job %d, which spawned it, was ended", spawner.id)
}

// stop ends a job or, if it has ended, the jobs that it spawned.
func (c *controller) stop(j *job, v *scorev1.Verdict) { c.stepLiving(j, evStop{v}) }

// stepLiving calls step for a job or, if it has ended, for the jobs that it spawned.
func (c *controller) stepLiving(j *job, e event) {
	if j.state != done {
		c.step(j, e)
		return
	}
	for _, child := range slices.Clone(j.children) {
		c.stepLiving(child, e)
	}
}

// endParent ends the parent of a failed job.
func (c *controller) endParent(j *job) {
	v := j.verdict
	switch {
	case j.parent == nil:
		return
	case v.GetReason() == exited:
		j.reportToSpawners()
		c.childLeft(j)
		return
	case j.parent.again != "": // it is to restart, and waits for this job
		c.finishIfDone(j.parent)
		return
	case v.GetReason() == nodeLost:
		c.step(j.parent, evDrain{v.GetMessage()})
	}
	v = verdict(v.GetReason(), v.GetExitCode(), "job %d, which the job spawned, ended: %s", j.id, v.GetMessage())
	for spawner := j.parent; spawner != nil; spawner = spawner.parent {
		if spawner.state != done {
			c.step(spawner, evStop{v})
			return
		}
		if earlier := spawner.childVerdict; earlier == nil || earlier.GetReason() == exited {
			spawner.childVerdict = v
		}
	}
}

// setDeadline sets the deadline of the job's present state.
func (c *controller) setDeadline(j *job, d time.Duration) {
	j.deadline = c.now + d.Nanoseconds()
	c.timers.add(timer{at: j.deadline, kind: timerJob, id: j.id})
}

func (j *job) nodeNames() []string { return j.namesOf(func(*part) bool { return true }) }

func (j *job) namesOf(is func(*part) bool) []string {
	var names []string
	for _, p := range j.parts {
		if is(p) {
			names = append(names, p.Node)
		}
	}
	return names
}
