package ctxswitch

import (
	"cmp"
	"slices"
	"time"
)

// Phase is the state of a job's processes, as far as the machine has ordered it or knows it from
// events.
type Phase uint8

const (
	// PhasePrepared: the job has no process yet. Its launch is ordered when its row comes on; from
	// then on the job counts as running. It needs no freeze.
	PhasePrepared Phase = iota
	// PhaseRunning: its processes run, or will once the thaw or the launch that
	// was ordered has been carried out. Taken for running from the order on,
	// since from then on nothing may rely on its standing still.
	PhaseRunning
	// PhaseStopping: its freeze is ordered, the answer has not come. Part of it
	// may still run. A job that is late stays here while the node goes on.
	PhaseStopping
	// PhaseStopped: none of its processes runs.
	PhaseStopped
)

// String returns the phase as a word.
func (p Phase) String() string {
	switch p {
	case PhasePrepared:
		return "prepared"
	case PhaseRunning:
		return "running"
	case PhaseStopping:
		return "stopping"
	case PhaseStopped:
		return "stopped"
	}
	return "unknown"
}

// binding is the state of a job's contexts.
type binding uint8

const (
	// saved: on no channel. A job without contexts is always saved.
	saved binding = iota
	// live: on their channels, in the hands of the processes.
	live
	// revoked: on their channels, out of the hands of the processes.
	revoked
)

// job is the machine's state of one job.
type job struct {
	id       JobID
	contexts int    // above 0: the job takes part in revoke, flush, save and load
	awaited  bool   // others wait until it has stopped, though it has no contexts
	launched bool   // all its processes exist; until then some may still be born
	after    planID // only newer plans mean this job
	phase    Phase
	bound    binding
	want     bool // the present row has the job
	stays    bool // it is off, and its contexts stay on their channels
	leaves   bool // it is on until the next boundary, and its contexts were revoked ahead of it
	asked    bool // that revoke has no answer yet
	on, fits bool // on: in the row of the last call of fit; fits: its contexts may stay during that row
	// early: it is on, but is to stand still until its row ends or is replaced: it was stopped
	// ahead of the boundary, or sits the slice out; see early.go.
	early bool
	// mixed: the job counts as running, but was frozen during its launch, so some of its processes
	// are stopped. If the row wants it, it must be thawed.
	mixed bool

	// waiting is the step, other than Stop, for which the machine awaits the job's answer; Steady
	// if none.
	waiting Step
	by      int64 // deadline of that answer
	// stopWaited: the machine awaits the answer to Stop, until stopBy; possibly beside another
	// step.
	stopWaited bool
	seq        uint64 // of the last order to the job, except freezes
	stopSeq    uint64 // of the last freeze, which may outlast its switch
	stopAt     int64  // when that freeze was ordered
	stopBy     int64  // deadline of its answer

	late        bool   // stopping, and no longer awaited
	lateStreak  int    // late freezes since the job last stood still
	lateSince   int64  // the first of them
	warned      bool   // the user was warned, which happens once
	lateFreezes uint64 // total number of late freezes

	stopCost   time.Duration // what stopping it takes; see early.go
	stopLead   time.Duration // how long before the boundary it is stopped, if stopCost is not small
	led, short time.Duration // how long before the boundary it was stopped last, and by how much too late
	owes       time.Duration // for how much longer it sits out its slices
	longLeads  int           // stops that took a large part of the slice
	unrecorded bool          // the last of them is in no record yet

	since  int64 // local instant of the last go, while running
	ran    time.Duration
	slices uint64
}

// due reports whether step s has work with the job now.
func (j *job) due(s Step) bool {
	switch s {
	case Revoke:
		return !j.want && !j.stays && (j.bound == live || j.asked)
	case Stop:
		return !j.runs() && (j.phase == PhaseRunning || j.phase == PhaseStopping && !j.late)
	case Flush, Save:
		return !j.want && j.bound == revoked
	case Load:
		return j.want && !j.connected()
	case Go:
		return j.runs() && j.connected() && (j.phase == PhaseStopping || j.phase == PhaseStopped || j.mixed)
	case Steady:
	}
	return false
}

// runs reports whether the job's processes should run now.
func (j *job) runs() bool { return j.want && !j.early }

// connected reports whether the job has all its contexts, if any, on their channels, or had them
// there until they were revoked ahead of the boundary. A job that came after the load step is not
// connected and waits for the next switch.
func (j *job) connected() bool { return j.contexts == 0 || j.bound == live || j.leaves }

// settled reports whether the job is as the present row wants it, so that no step has work with it.
func (j *job) settled() bool {
	switch {
	case j.runs():
		return j.phase == PhaseRunning && !j.mixed && j.connected()
	case j.early:
		return j.phase == PhaseStopping || j.phase == PhaseStopped
	case j.unrecorded:
		return false
	}
	return (j.bound == saved || j.stays) && !j.due(Stop)
}

// find returns the index of a job in the table, which is ordered by id.
func (m *Machine) find(id JobID) (int, bool) {
	return slices.BinarySearchFunc(m.jobs, id, func(j job, id JobID) int { return cmp.Compare(j.id, id) })
}

// lookup returns a job, or nil. The pointer is valid until the table changes.
func (m *Machine) lookup(id JobID) *job {
	i, ok := m.find(id)
	if !ok {
		return nil
	}
	return &m.jobs[i]
}

// add adds a job to the table. It returns false if the job is there already.
func (m *Machine) add(j job) bool {
	i, ok := m.find(j.id)
	if ok {
		return false
	}
	m.jobs = slices.Insert(m.jobs, i, j)
	m.residentsDue = true
	if j.contexts > 0 {
		m.networked++
	}
	return true
}

// remove removes a job from the table. Steps no longer wait for it.
func (m *Machine) remove(now int64, id JobID) {
	i, ok := m.find(id)
	if !ok {
		return
	}
	m.forgetWait(now, &m.jobs[i])
	if m.jobs[i].contexts > 0 {
		m.networked--
	}
	m.jobs = slices.Delete(m.jobs, i, i+1)
	m.residentsDue = true
}

// awaits reports whether the machine awaits the job's answer to step s, and until when.
func (j *job) awaits(s Step) (by int64, ok bool) {
	if s == Stop {
		return j.stopBy, j.stopWaited
	}
	return j.by, j.waiting == s && s != Steady
}

// onAnswer ends the wait for the job's answer to step s, if there is any. The last answer ends the
// step.
func (m *Machine) onAnswer(now int64, j *job, s Step) {
	if _, ok := j.awaits(s); !ok {
		return
	}
	if s == Stop {
		j.stopWaited = false
	} else {
		j.waiting = Steady
	}
	m.pending[s]--
	if m.pending[s] == 0 {
		m.record.End[s] = now
	}
}

// forgetWait ends all waits for the job.
func (m *Machine) forgetWait(now int64, j *job) {
	m.onAnswer(now, j, Stop)
	m.onAnswer(now, j, j.waiting)
}
