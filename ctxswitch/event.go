package ctxswitch

// EventKind says what an event tells.
type EventKind uint8

// The kinds of events; each has a function that makes one.
const (
	EventTick EventKind = iota
	EventPlan
	EventOffset
	EventJobAdded
	EventJobLaunched
	EventJobAdopted
	EventJobRemoved
	EventDone
	EventJobConnected
	EventJobRespawned
)

// Event is a fact the machine is told. Make it with one of the functions
// below: which fields mean something depends on the kind.
type Event struct {
	Kind     EventKind
	Frozen   bool
	Awaited  bool
	Step     Step
	Contexts int
	Job      JobID
	Term     uint64
	Offset   int64
	Seq      uint64
	Plan     *Plan
}

// Tick tells only that time has passed. It is due at Deadline and harmless at
// any other instant.
func Tick() Event { return Event{Kind: EventTick} }

// PlanArrived tells of a plan from a leader. It is copied. A plan that is not
// newer than the newest seen, or not valid, is counted and otherwise ignored.
func PlanArrived(p *Plan) Event { return Event{Kind: EventPlan, Plan: p} }

// OffsetChanged tells by how many nanoseconds the clock of that term's leader
// is ahead of the local one. A plan is followed by the clock of its own term,
// and not before that is known.
func OffsetChanged(term uint64, offset int64) Event {
	return Event{Kind: EventOffset, Term: term, Offset: offset}
}

// JobAdded reports a prepared job: it has no process yet and is launched when
// its row comes on. contexts counts its contexts on this node's network; a job
// with none has no part in revoke, flush, save and load.
func JobAdded(job JobID, contexts int) Event {
	return Event{Kind: EventJobAdded, Job: job, Contexts: contexts}
}

// StopAwaited adds to JobAdded or JobAdopted that other jobs must not go before
// this one is known to stand still, since it may run on for long after the
// order: signals, other than a cgroup, reach its threads one by one.
func (e Event) StopAwaited() Event {
	e.Awaited = true
	return e
}

// JobLaunched reports that all processes of the job exist; it answers
// EffectLaunch. If the job was frozen meanwhile it is frozen once more, since
// without a cgroup the processes born last have not been reached.
func JobLaunched(job JobID) Event { return Event{Kind: EventJobLaunched, Job: job} }

// JobRespawned reports that a process was born after all had been launched, since one had failed.
// Without a cgroup it runs, though its job may be frozen: then the job is frozen once more.
func JobRespawned(job JobID) Event { return Event{Kind: EventJobRespawned, Job: job} }

// JobAdopted tells of a job that a former agent had launched. It counts as frozen if it was
// told to stop, whether or not all of its processes stand still yet: one that is taken for running
// is never thawed.
func JobAdopted(job JobID, contexts int, frozen bool) Event {
	return Event{Kind: EventJobAdopted, Job: job, Contexts: contexts, Frozen: frozen}
}

// JobConnected reports that a job that came without contexts gets up to so many, which are on
// their channels; from now on it has part in revoke, flush, save and load.
func JobConnected(job JobID, contexts int) Event {
	return Event{Kind: EventJobConnected, Job: job, Contexts: contexts}
}

// JobRemoved reports that no process of the job is left, or that the launch
// failed. It may come at any time; a frozen job need not be thawed to be
// killed.
func JobRemoved(job JobID) Event { return Event{Kind: EventJobRemoved, Job: job} }

// Done answers an effect that has one of the six steps: its work is finished.
// For EffectFreeze that means every process of the job has stopped.
func Done(e Effect) Event {
	return Event{Kind: EventDone, Step: e.Step, Job: e.Job, Seq: e.Seq}
}
