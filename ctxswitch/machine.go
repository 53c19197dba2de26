package ctxswitch

import (
	"math"
	"time"
)

const (
	// Never is the deadline of a machine that only waits for events.
	Never = int64(math.MaxInt64)

	// WarnAfter is the number of consecutive late freezes after which the user is warned: a few
	// come from a page fault, a busy disk, or a machine too busy to let the process reach its stop;
	// so many are a property of the program.
	WarnAfter = 10

	// usualJobs is the number of jobs for which memory is allocated in
	// advance; with more, the tables grow once.
	usualJobs = 64

	// maxComing bounds the plans that wait for their origins: more than a leader makes during the
	// slice of a gang that was let in ahead of its turn.
	maxComing = 8

	// keptRecords is the number of switches that begin before a record's memory is reused. One
	// Handle can end two switches and begin a third; the rest is for callers that queue effects.
	keptRecords = 8
)

// Machine decides which jobs run on one node. Make it with New; it is not safe for concurrent use.
type Machine struct {
	config    Config
	jobs      []job // in the order of their ids
	networked int   // how many of them have contexts

	state   Step           // the step of the switch in progress, or Steady
	pending [stepCount]int // jobs whose answer to each step is awaited; none in Steady

	cur    timeline   // the plan in force, if there is one
	coming []timeline // newer plans of one term that wait for their origin or clock, by origin and version
	slot   Slot       // the present slot of cur; undefined without cur

	seenTerm, seenVersion uint64 // of the newest accepted plan
	clockTerm             uint64 // of the newest offset, for plans to come
	clockOffset           int64
	clockKnown            bool

	// cause and planned belong to the next switch. caused is false if only a new job can be its
	// cause.
	caused  bool
	cause   Cause
	planned int64

	// disturbed means that a job which the row does not want was found running or on the network,
	// so that a switch in progress must begin again.
	disturbed bool

	// leaveAt is the local instant at which contexts begin to leave before the next boundary, or Never.
	leaveAt int64
	ahead   time.Duration // how long before that boundary

	// residentsDue means that chooseResidents must decide again.
	residentsDue bool

	seq      uint64
	record   *Record // of the switch in progress; nil in Steady
	records  [keptRecords]Record
	recordAt int
	effects  []Effect
	counters [counterCount]uint64
}

// New returns a machine without plan and jobs. Without a plan it leaves every job as it is, so that
// after the restart of an agent no job stops for lack of a leader.
func New(config Config) *Machine {
	m := &Machine{
		config:  config,
		leaveAt: Never,
		ahead:   aheadFirst,
		jobs:    make([]job, 0, usualJobs),
		effects: make([]Effect, 0, 2*usualJobs),
	}
	for i := range m.records {
		r := &m.records[i]
		r.Out = make([]JobID, 0, usualJobs)
		r.In = make([]JobID, 0, usualJobs)
		r.Launched = make([]JobID, 0, usualJobs)
		r.Late = make([]JobID, 0, usualJobs)
	}
	return m
}

// Handle handles an event at the instant now of the local monotonic clock, in nanoseconds, and
// returns the effects, which must be carried out in order. The result is valid until the next
// Handle. now must not decrease.
func (m *Machine) Handle(now int64, ev Event) []Effect {
	m.effects = m.effects[:0]
	m.apply(now, &ev)
	m.decide(now)
	return m.effects
}

// Deadline returns the local instant at which the next Tick is due: the next boundary at which the
// node's jobs change, the instant at which contexts leave ahead of it, the origin of a plan, or the
// timeout of a step.
func (m *Machine) Deadline() int64 {
	at := Never
	if m.waiting() {
		at = m.patience()
	}
	if m.cur.present {
		change, _ := m.cur.nextChange(m.slot)
		at = min(at, change, m.leaveAt)
	}
	if len(m.coming) > 0 && m.coming[0].clocked {
		at = min(at, m.coming[0].local(m.coming[0].plan.Origin))
	}
	return at
}

// Loose reports whether the next Tick is for contexts that begin to leave ahead of a boundary, for
// which it need not come to the microsecond.
func (m *Machine) Loose() bool { return m.cur.present && m.Deadline() == m.leaveAt }

// State returns the step of the switch in progress, or Steady.
func (m *Machine) State() Step { return m.state }

// InForce returns term and version of the present plan, and the slot that is on. ok is false before
// the first plan.
func (m *Machine) InForce() (term, version uint64, on Slot, ok bool) {
	return m.cur.plan.Term, m.cur.plan.Version, m.slot, m.cur.present
}

// Job is the state of a job.
type Job struct {
	ID          JobID
	Phase       Phase
	On          bool          // the row that is on has the job
	Resident    bool          // its contexts are on their channels, or shall be
	Ran         time.Duration // how long it has been on since it was launched or adopted
	Slices      uint64        // how often it was thawed or launched
	LateFreezes uint64        // how often it did not stop in time
}

// Job returns the state of one job at the instant now; ok is false if it is not known.
func (m *Machine) Job(id JobID, now int64) (status Job, ok bool) {
	j := m.lookup(id)
	if j == nil {
		return Job{}, false
	}
	status = Job{
		ID: j.id, Phase: j.phase, On: j.want, Resident: j.contexts > 0 && (j.want || j.stays),
		Ran: j.ran, Slices: j.slices, LateFreezes: j.lateFreezes,
	}
	if j.phase == PhaseRunning {
		status.Ran += time.Duration(now - j.since)
	}
	return status, true
}

// Jobs returns the number of known jobs.
func (m *Machine) Jobs() int { return len(m.jobs) }
