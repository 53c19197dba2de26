package ctxswitch

import (
	"math"
	"time"
)

const (
	// Never is the deadline of a machine that waits for events only.
	Never = int64(math.MaxInt64)

	// WarnAfter is the number of late freezes in a row after which the user is warned, if the job
	// has not stood still once for WarnTime. A few late freezes come from a page fault or a busy
	// disk. On a machine that other programs keep busy most freezes are late, since Linux delays
	// the process's stop, but it comes; a process that never stops is stuck.
	WarnAfter = 10
	// WarnTime is a hundred short slices of others, and many times what Linux delays a process.
	WarnTime = 2 * time.Second

	// usualJobs is the number of jobs for which memory is allocated in advance; with more jobs, the
	// tables grow once.
	usualJobs = 64

	// maxComing bounds the plans that wait for their origins. It is more than a leader makes during
	// the slice of a gang that was let in ahead of its turn.
	maxComing = 8

	// keptRecords is the number of switches that begin before a record's memory is used again. One
	// Handle can close two switches and begin a third; the rest is for callers that queue effects.
	keptRecords = 8
)

// Machine decides which jobs run on one node. Make it with New. It is not safe for concurrent use.
type Machine struct {
	config    Config
	jobs      []job // ordered by id
	networked int   // number of jobs with contexts

	state   Step           // the step of the switch in progress, or Steady
	pending [stepCount]int // per step, the number of awaited answers; none in Steady

	cur    timeline   // the plan in force, or none yet
	coming []timeline // newer plans of one term that wait for their origin or clock, by origin and version
	slot   Slot       // the present slot of cur; meaningless without cur

	seen        planID // the newest plan ever accepted
	clockTerm   uint64 // of the newest offset, for plans to come
	clockOffset int64
	clockKnown  bool

	// cause and planned belong to the next switch. If caused is false, only a job that came can be
	// the cause.
	caused  bool
	cause   Cause
	planned int64

	// disturbed means that a job that the row does not want runs or is on the network, so that a
	// switch in progress must begin again.
	disturbed bool

	// leaveAt is the local instant at which contexts are revoked ahead of the next boundary, or
	// Never.
	leaveAt int64
	ahead   time.Duration // time between that instant and the boundary

	// costlySeen means that stops of some job have been costly; until then early.go has nothing to
	// do.
	costlySeen bool
	// stopAt is the local instant at which a job is stopped ahead of the next boundary, or Never.
	stopAt int64

	// residentsDue means that chooseResidents must decide again.
	residentsDue bool

	seq      uint64
	record   *Record // of the switch in progress; nil in Steady
	records  [keptRecords]Record
	recordAt int
	effects  []Effect
	counters [counterCount]uint64
}

// New returns a machine without a plan and jobs. Without a plan it leaves every job as it is: after
// an agent's restart no job may stop only because there is no leader.
func New(config Config) *Machine {
	m := &Machine{
		config:  config,
		leaveAt: Never,
		stopAt:  Never,
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

// Handle processes an event at the instant now of the local monotonic clock, in nanoseconds. It
// returns the effects; carry them out in this order. They are valid until the next Handle. now must
// not go backwards.
func (m *Machine) Handle(now int64, ev Event) []Effect {
	m.effects = m.effects[:0]
	m.apply(now, &ev)
	m.decide(now)
	return m.effects
}

// Deadline returns the local instant at which the machine needs a Tick if there is no event before:
// the next boundary at which the node's jobs change, the instants at which contexts are revoked and
// jobs are stopped ahead of it, the origin of a plan, or the timeout of a step.
func (m *Machine) Deadline() int64 {
	at := Never
	if m.waiting() {
		at = m.nextTimeout()
	}
	if m.cur.present {
		change, _ := m.cur.nextChange(m.slot)
		at = min(at, change, m.leaveAt, m.stopAt)
	}
	if len(m.coming) > 0 && m.coming[0].clocked {
		at = min(at, m.coming[0].local(m.coming[0].plan.Origin))
	}
	return at
}

// Loose reports whether the next Tick is for contexts that are revoked, or a job that is stopped,
// ahead of a boundary, so that it need not come to the microsecond.
func (m *Machine) Loose() bool {
	return m.cur.present && m.Deadline() == min(m.leaveAt, m.stopAt)
}

// State returns the step of the switch in progress, or Steady.
func (m *Machine) State() Step { return m.state }

// Job describes a job.
type Job struct {
	ID          JobID
	Phase       Phase
	On          bool          // the present row has the job
	Early       bool          // it is on, and stands still or stops: see early.go
	Resident    bool          // its contexts are on their channels, or about to be
	Ran         time.Duration // how long it has run since it was launched or adopted
	Slices      uint64        // how often it was thawed or launched
	LateFreezes uint64        // how often it did not stop in time
}

// Job describes a job at the instant now; ok is false if the job is unknown.
func (m *Machine) Job(id JobID, now int64) (status Job, ok bool) {
	j := m.lookup(id)
	if j == nil {
		return Job{}, false
	}
	status = Job{
		ID: j.id, Phase: j.phase, On: j.want, Early: j.early, Resident: j.contexts > 0 && (j.want || j.stays),
		Ran: j.ran, Slices: j.slices, LateFreezes: j.lateFreezes,
	}
	if j.phase == PhaseRunning {
		status.Ran += time.Duration(now - j.since)
	}
	return status, true
}
