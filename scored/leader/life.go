package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
)

// event is something that happens to a job.
type event interface{ isEvent() }

type (
	// evPlaced: the job's nodes and CPUs are chosen.
	evPlaced struct{}
	// evPrepared: a node is ready to start its ranks.
	evPrepared struct{ part *part }
	// evLaunched: a node has started its ranks.
	evLaunched struct {
		part *part
		at   int64
	}
	// evExited: a rank has ended.
	evExited struct {
		part *part
		exit *agentpb.RankExited
	}
	// evNodeDone: no process of the job is left on a node.
	evNodeDone struct {
		part  *part
		usage *scorev1.Usage
	}
	// evStop: the job must end, with this verdict unless it has one.
	evStop struct{ verdict *scorev1.Verdict }
	// evTerminate: the same, but ranks that run, or may, get SIGTERM and time to end by themselves.
	evTerminate struct{ verdict *scorev1.Verdict }
	// evKill: ranks that have got SIGTERM get no more time.
	evKill struct{}
	// evPartLost: a node is gone, or has come back without the job.
	evPartLost struct {
		part   *part
		reason string // such as "node n2 was lost"
	}
	// evDrain: a drained node must get rid of the job.
	evDrain struct{ reason string }
	// evDeadline: the deadline of the job's state has passed.
	evDeadline struct{}
)

func (evPlaced) isEvent()    {}
func (evPrepared) isEvent()  {}
func (evLaunched) isEvent()  {}
func (evExited) isEvent()    {}
func (evNodeDone) isEvent()  {}
func (evStop) isEvent()      {}
func (evTerminate) isEvent() {}
func (evKill) isEvent()      {}
func (evPartLost) isEvent()  {}
func (evDrain) isEvent()     {}
func (evDeadline) isEvent()  {}

// step makes a job's transitions, which DESIGN.md draws. Only become* changes the state. Events
// without meaning in a state change nothing, since agents repeat themselves after every
// interruption.
func (c *controller) step(j *job, e event) {
	if j.state == starting && j.inherited && launchedMeanwhile(e) {
		c.becomeRunning(j)
	}
	if t, ok := e.(evTerminate); ok && !j.mayRun() {
		e = evStop(t) // nothing runs that SIGTERM could reach
	}
	switch j.state {
	case queued:
		c.stepQueued(j, e)
	case starting:
		if j.inherited {
			c.stepInherited(j, e)
		} else {
			c.stepStarting(j, e)
		}
	case running:
		c.stepRunning(j, e)
	case ending:
		c.stepEnding(j, e)
	case done, unknown:
		// The end is decided. Callers get their answers elsewhere.
	}
}

// stepQueued handles step for a job that waits for nodes.
func (c *controller) stepQueued(j *job, e event) {
	switch e := e.(type) {
	case evPlaced:
		c.becomeStarting(j)
	case evStop:
		c.becomeDone(j, e.verdict)
	}
}

// stepStarting handles step for a job while its nodes prepare it. No rank of it has run.
func (c *controller) stepStarting(j *job, e event) {
	switch e := e.(type) {
	case evPrepared:
		c.onNodePrepared(j, e.part) // the last: to running
	case evStop:
		c.orderEnd(j, e.verdict) // before kill, whose effect does not wait for the end in the log
		c.kill(j, e.verdict.GetMessage())
		c.becomeDone(j, e.verdict)
	case evPartLost:
		c.becomeEnding(j, c.withdraw(j, e.part, e.reason))
		c.finishIfDone(j) // to queued
	case evDrain:
		c.becomeEnding(j, c.withdraw(j, nil, e.reason))
		c.finishIfDone(j) // to queued
	case evDeadline:
		c.onPrepareDeadline(j)
	}
}

// stepInherited handles step for a job that starts by the plan of an earlier leader: its ranks may
// run.
func (c *controller) stepInherited(j *job, e event) {
	switch e := e.(type) {
	case evPrepared:
		c.onNodePrepared(j, e.part) // the last: to running
	case evStop:
		c.orderEnd(j, e.verdict)
		c.becomeEnding(j, e.verdict)
	case evTerminate:
		c.orderEnd(j, e.verdict)
		c.becomeTerminating(j, e.verdict)
	case evPartLost:
		c.endWithLoss(j, e.part, e.reason)
	case evDrain:
		c.requeueIfAllowed(j, e.reason)
	case evDeadline:
		c.onPrepareDeadline(j)
	}
}

// stepRunning handles step for a job that all its nodes have prepared.
func (c *controller) stepRunning(j *job, e event) {
	switch e := e.(type) {
	case evLaunched:
		c.onLaunched(j, e.part, e.at)
	case evExited:
		c.countExit(j, e.part, e.exit) // evStop if it ends the job
	case evNodeDone:
		c.onNodeDone(j, e.part, e.usage) // the last: to done
	case evStop:
		c.orderEnd(j, e.verdict)
		c.becomeEnding(j, e.verdict)
	case evTerminate:
		c.orderEnd(j, e.verdict)
		c.becomeTerminating(j, e.verdict)
	case evPartLost:
		if j.spec.GetRecover() {
			e.part.lose(j)
			c.continueWithout(j, e.part, e.reason) // the last: to done
			return
		}
		c.endWithLoss(j, e.part, e.reason)
	case evDrain:
		c.requeueIfAllowed(j, e.reason)
	case evDeadline:
		c.onLaunchDeadline(j)
	}
}

// stepEnding handles step for a job that is to end, or to restart after its end.
func (c *controller) stepEnding(j *job, e event) {
	switch e := e.(type) {
	case evLaunched:
		c.onLaunched(j, e.part, e.at)
	case evExited:
		c.countExit(j, e.part, e.exit)
	case evNodeDone:
		c.onNodeDone(j, e.part, e.usage) // the last: to done, or to queued
	case evStop:
		// Killed ranks may fail in many ways, so only a cancellation ends a job that is to
		// restart. Before ranks have run, any verdict does.
		if j.again != "" && (!j.restarting || e.verdict.GetReason() == cancelled) {
			j.again, j.restarting, j.verdict = "", false, e.verdict
			c.orderEnd(j, e.verdict)
		}
	case evKill:
		c.endGrace(j)
	case evPartLost:
		e.part.lose(j)
		c.blameLoss(j, e.part, e.reason)
		if !j.spec.GetRecover() {
			c.endGrace(j) // the gang is not whole and runs no more
		}
		c.awaitPart(j, e.part) // the last: to done, or to queued
	case evDeadline:
		c.onEndDeadline(j) // at last: to done
	}
}

// onNodePrepared notes that a node is ready; once all are, the job runs.
func (c *controller) onNodePrepared(j *job, p *part) {
	p.prepared = true
	if j.all(func(p *part) bool { return p.prepared }) {
		c.becomeRunning(j)
	}
}

// endWithLoss ends a job that may have run on a node which is gone.
func (c *controller) endWithLoss(j *job, p *part, reason string) {
	p.lose(j)
	c.becomeEnding(j, c.lossVerdict(j, reason))
	c.awaitPart(j, p)
}

// requeueIfAllowed gets a job that may have run off its nodes, if its user lets it start again.
func (c *controller) requeueIfAllowed(j *job, reason string) {
	if j.mayRestart() {
		c.becomeEnding(j, c.orderRequeue(j, reason))
	}
}

// launchedMeanwhile reports whether the event proves that an earlier leader's plan has started the
// job.
func launchedMeanwhile(e event) bool {
	switch e.(type) {
	case evLaunched, evExited, evNodeDone:
		return true
	default:
		return false
	}
}
