package leader

import "score/scored/api/scorev1"

// event is what happens to one job.
type event interface{ isEvent() }

type (
	// evPlaced: its nodes and CPUs are chosen.
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
		exit *scorev1.RankExited
	}
	// evNodeDone: no process of the job is left on a node.
	evNodeDone struct {
		part  *part
		usage *scorev1.Usage
	}
	// evStop: the job shall end, with this verdict unless it has one.
	evStop struct{ verdict *scorev1.Verdict }
	// evPartLost: a node is gone, or has come back without the job.
	evPartLost struct {
		part   *part
		reason string // such as "node n2 was lost"
	}
	// evDrain: a drained node wants to be rid of it.
	evDrain struct{ reason string }
	// evLate: the deadline of its state has passed.
	evLate struct{}
)

func (evPlaced) isEvent()   {}
func (evPrepared) isEvent() {}
func (evLaunched) isEvent() {}
func (evExited) isEvent()   {}
func (evNodeDone) isEvent() {}
func (evStop) isEvent()     {}
func (evPartLost) isEvent() {}
func (evDrain) isEvent()    {}
func (evLate) isEvent()     {}

// step is the whole life of a job: every edge of the picture in DESIGN.md. An
// event that has no meaning in a state changes nothing, since agents repeat
// themselves after every interruption.
func (c *controller) step(j *job, e event) {
	switch j.state {
	case queued:
		switch e := e.(type) {
		case evPlaced:
			c.start(j)
		case evStop:
			c.conclude(j, e.verdict)
		}

	case starting:
		if j.inherited && launchedMeanwhile(e) {
			c.run(j)
			c.step(j, e)
			return
		}
		switch e := e.(type) {
		case evPrepared:
			e.part.prepared = true
			if j.all(func(p *part) bool { return p.prepared }) {
				c.run(j)
			}
		case evStop:
			if j.inherited { // its ranks may run
				c.orderEnd(j, e.verdict)
				c.end(j, e.verdict)
				return
			}
			c.kill(j, e.verdict.GetMessage())
			c.conclude(j, e.verdict)
		case evPartLost:
			if j.inherited {
				c.losePart(j, e.part, e.reason)
				return
			}
			c.withdraw(j, e.part, e.reason)
		case evDrain:
			if j.inherited {
				c.handedBack(j, e.reason) // its ranks may run
				return
			}
			c.withdraw(j, nil, e.reason)
		case evLate:
			c.prepareLate(j)
		}

	case running:
		switch e := e.(type) {
		case evLaunched:
			c.launched(j, e.part, e.at)
		case evExited:
			c.countExit(j, e.part, e.exit)
		case evNodeDone:
			c.heardDone(j, e.part, e.usage)
		case evStop:
			c.orderEnd(j, e.verdict)
			c.end(j, e.verdict)
		case evPartLost:
			c.losePart(j, e.part, e.reason)
		case evDrain:
			c.handedBack(j, e.reason)
		}

	case ending:
		switch e := e.(type) {
		case evLaunched:
			c.launched(j, e.part, e.at)
		case evExited:
			c.countExit(j, e.part, e.exit)
		case evNodeDone:
			c.heardDone(j, e.part, e.usage)
		case evStop:
			// Of what has not run any verdict counts. Ranks that are killed may
			// fail in many ways; only a wish ends a job that is to be begun anew.
			if j.again != "" && (!j.restarting || e.verdict.GetReason() == cancelled) {
				j.again, j.restarting, j.verdict = "", false, e.verdict
				c.orderEnd(j, e.verdict)
			}
		case evPartLost:
			c.losePart(j, e.part, e.reason)
		case evLate:
			c.endLate(j)
		}

	case done, unknown:
		// Its end is decided; whoever asks is told so elsewhere.
	}
}

// launchedMeanwhile tells whether the event proves that an earlier leader's
// plan has started the job.
func launchedMeanwhile(e event) bool {
	switch e.(type) {
	case evLaunched, evExited, evNodeDone:
		return true
	default:
		return false
	}
}
