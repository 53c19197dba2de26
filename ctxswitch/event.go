package ctxswitch

// EventKind is the kind of an event.
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

// Event is an input of the machine. Make it with one of the functions below, since the meaning of
// the fields depends on the kind.
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

// Tick reports only that time has passed. It is due at Deadline and harmless at any other instant.
func Tick() Event { return Event{Kind: EventTick} }

// PlanArrived reports a plan from a leader. The machine copies it. It counts and ignores a plan
// that is invalid or not newer than the newest so far.
func PlanArrived(p *Plan) Event { return Event{Kind: EventPlan, Plan: p} }

// OffsetChanged reports by how many nanoseconds the clock of the term's leader is ahead of the
// local one. A plan is followed by the clock of its own term, and not before this is known.
func OffsetChanged(term uint64, offset int64) Event {
	return Event{Kind: EventOffset, Term: term, Offset: offset}
}

// JobAdded reports a prepared job: it has no process yet and is launched when its row comes on.
// contexts is the number of its contexts on this node's network; a job without contexts takes no
// part in revoke, flush, save and load.
func JobAdded(job JobID, contexts int) Event {
	return Event{Kind: EventJobAdded, Job: job, Contexts: contexts}
}

// StopAwaited returns the event, JobAdded or JobAdopted, for a job that must have stopped before
// other jobs go, since it may run on for long after the order: unlike a cgroup, signals reach its
// threads one by one.
func (e Event) StopAwaited() Event {
	e.Awaited = true
	return e
}

// JobLaunched reports that all processes of the job exist; it answers EffectLaunch. If the job was
// frozen meanwhile it is frozen again, since without a cgroup the freeze has not reached the
// processes that were forked last.
func JobLaunched(job JobID) Event { return Event{Kind: EventJobLaunched, Job: job} }

// JobRespawned reports that a process was forked after all had been launched, since one had failed.
// Without a cgroup it runs even if its job is frozen: then the job is frozen again.
func JobRespawned(job JobID) Event { return Event{Kind: EventJobRespawned, Job: job} }

// JobAdopted reports a job that a former agent had launched. It counts as frozen if it was ordered
// to stop, whether or not all of its processes have stopped yet: a job that counts as running is
// never thawed.
func JobAdopted(job JobID, contexts int, frozen bool) Event {
	return Event{Kind: EventJobAdopted, Job: job, Contexts: contexts, Frozen: frozen}
}

// JobConnected reports that a job that came without contexts gets up to this many, on their
// channels; from now on it takes part in revoke, flush, save and load.
func JobConnected(job JobID, contexts int) Event {
	return Event{Kind: EventJobConnected, Job: job, Contexts: contexts}
}

// JobRemoved reports that no process of the job is left, or that the launch
// failed. It may come at any time; a frozen job need not be thawed to be
// killed.
func JobRemoved(job JobID) Event { return Event{Kind: EventJobRemoved, Job: job} }

// Done reports that the work of an effect with one of the six steps is finished. For EffectFreeze
// that means that every process of the job has stopped.
func Done(e Effect) Event {
	return Event{Kind: EventDone, Step: e.Step, Job: e.Job, Seq: e.Seq}
}
