package ctxswitch

import "time"

// EventKind is the kind of fact of an event.
type EventKind uint8

// The kinds of events. Each has a function below that makes such an event.
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
	EventStopCost
)

// Event is an input of the machine: a fact. Make it with one of the functions below; its kind
// defines which fields are set.
type Event struct {
	Kind      EventKind
	Frozen    bool
	Awaited   bool
	Unplanned bool
	Step      Step
	Contexts  int
	Job       JobID
	Term      uint64
	Offset    int64
	Seq       uint64
	Cost      time.Duration
	Plan      *Plan
}

// Tick reports only that time has passed. It is due at Deadline and harmless at any other instant.
func Tick() Event { return Event{Kind: EventTick} }

// PlanArrived reports a plan from a leader. The machine copies it. It counts and otherwise ignores
// a plan that is invalid or not newer than the newest one seen.
func PlanArrived(p *Plan) Event { return Event{Kind: EventPlan, Plan: p} }

// OffsetChanged reports by how many nanoseconds the clock of that term's leader is ahead of the
// local clock. A plan follows the clock of its own term, and waits until its offset is known.
func OffsetChanged(term uint64, offset int64) Event {
	return Event{Kind: EventOffset, Term: term, Offset: offset}
}

// JobAdded reports a prepared job: it has no process yet and is launched when its row comes on.
// contexts is the number of its contexts on this node's network; a job without contexts takes no
// part in revoke, flush, save and load.
func JobAdded(job JobID, contexts int) Event {
	return Event{Kind: EventJobAdded, Job: job, Contexts: contexts}
}

// StopAwaited adds to JobAdded or JobAdopted that other jobs must not run before all processes of
// this job are known to have stopped. It is for jobs that may run on for long after the order:
// signals, unlike a cgroup, reach threads one by one.
func (e Event) StopAwaited() Event {
	e.Awaited = true
	return e
}

// NotPlannedYet adds to JobAdded that no plan so far means this job: one that names it means an
// earlier attempt. A plan that waits for its origin, while a job is requeued and prepared again, is
// obeyed until the end of a slice.
func (e Event) NotPlannedYet() Event {
	e.Unplanned = true
	return e
}

// JobLaunched reports that all processes of the job exist; it answers EffectLaunch. A job that was
// frozen meanwhile is frozen again, since without a cgroup the freeze does not reach processes that
// are born later.
func JobLaunched(job JobID) Event { return Event{Kind: EventJobLaunched, Job: job} }

// JobRespawned reports a new process in place of a failed one, after all had been launched. Without
// a cgroup it runs even if its job is frozen: then the job is frozen again.
func JobRespawned(job JobID) Event { return Event{Kind: EventJobRespawned, Job: job} }

// JobAdopted reports a job that a former agent had launched. frozen means that it was ordered to
// stop, whether or not all of its processes have stopped yet: a stopped job that counts as running
// would never be thawed.
func JobAdopted(job JobID, contexts int, frozen bool) Event {
	return Event{Kind: EventJobAdopted, Job: job, Contexts: contexts, Frozen: frozen}
}

// JobConnected reports that a job that had no contexts gets at most this many, which are on their
// channels. From now on it takes part in revoke, flush, save and load.
func JobConnected(job JobID, contexts int) Event {
	return Event{Kind: EventJobConnected, Job: job, Contexts: contexts}
}

// JobRemoved reports that the job has no process left, or that its launch failed. It may come at
// any time; a frozen job need not be thawed before it is killed.
func JobRemoved(job JobID) Event { return Event{Kind: EventJobRemoved, Job: job} }

// Done reports that the work of an effect with one of the six steps is finished. For EffectFreeze
// that means that every process of the job has stopped.
func Done(e Effect) Event {
	return Event{Kind: EventDone, Step: e.Step, Job: e.Job, Seq: e.Seq}
}

// Costing adds to Done of EffectFreeze what the stop has cost: the processor time of the order, and
// of the job's processes from then on. Costs of ordinary stops may be left out.
func (e Event) Costing(cost time.Duration) Event {
	e.Cost = cost
	return e
}

// StopCost reports what a stop has cost so far that is not finished when the job is thawed.
func StopCost(job JobID, cost time.Duration) Event {
	return Event{Kind: EventStopCost, Job: job, Cost: cost}
}
