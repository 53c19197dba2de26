package ctxswitch

import (
	"cmp"
	"slices"
	"time"
)

// Phase is the state of a job's processes, as far as the machine has ordered it or knows it.
type Phase uint8

const (
	// PhasePrepared: the job has no process yet. When its row comes on, its launch is ordered and
	// it counts as running. It need not be frozen.
	PhasePrepared Phase = iota
	// PhaseRunning: its processes run, or will after the ordered thaw or launch. It counts as
	// running from the order on, since from then on nothing may rely on a stop.
	PhaseRunning
	// PhaseStopping: its freeze is ordered, and the answer has not come. A part of it may still
	// run. A job that is late stays here while the node goes on.
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

// binding is where a job's contexts are.
type binding uint8

const (
	// saved: on no channel. A job without contexts is always saved.
	saved binding = iota
	// live: on their channels, usable by the processes.
	live
	// revoked: on their channels, taken away from the processes.
	revoked
)

// job is the machine's state of one job.
type job struct {
	id       JobID
	contexts int  // if > 0, it takes part in the steps of the network
	awaited  bool // others wait until it has stopped, although it has no contexts
	launched bool // all its processes exist; before that some may still be forked
	phase    Phase
	bound    binding
	want     bool // the row that is on has the job
	stays    bool // it is off, and its contexts stay on their channels
	leaves   bool // it is on until the next boundary, and its contexts were revoked ahead of that
	asked    bool // that revoke has no answer yet
	on, fits bool // of the row that fit was called for; its contexts may stay then
	// mixed: it counts as running, but was frozen during its launch, so a part of its processes is
	// stopped. If the row wants it, it must be thawed.
	mixed bool

	// waiting is the step other than Stop whose answer is awaited from this job, or Steady.
	waiting Step
	by      int64 // until when
	// stopWaited: the answer to Stop is awaited until stopBy, possibly beside that of another step.
	stopWaited bool
	seq        uint64 // of the last order to the job other than a freeze
	stopSeq    uint64 // of the last freeze; it may outlast its switch
	stopAt     int64  // when that was ordered
	stopBy     int64  // when the wait for its answer ends

	late        bool   // stopping, and no longer waited for
	lateStreak  int    // late freezes since the last one in time
	warned      bool   // EffectWarn was given
	lateFreezes uint64 // late freezes in all

	since  int64 // local instant of the last go, while running
	ran    time.Duration
	slices uint64
}

// due reports whether the job has work in step s now.
func (j *job) due(s Step) bool {
	switch s {
	case Revoke:
		return !j.want && !j.stays && (j.bound == live || j.asked)
	case Stop:
		return !j.want && (j.phase == PhaseRunning || j.phase == PhaseStopping && !j.late)
	case Flush, Save:
		return !j.want && j.bound == revoked
	case Load:
		return j.want && !j.connected()
	case Go:
		return j.want && j.connected() && (j.phase == PhaseStopping || j.phase == PhaseStopped || j.mixed)
	case Steady:
	}
	return false
}

// connected reports whether the job has no contexts, or has them on their channels, or had them
// until leaveAhead. A job that came after the load step does not, and waits for the next one.
func (j *job) connected() bool { return j.contexts == 0 || j.bound == live || j.leaves }

// settled reports whether the job is as the row wants it, so that no step has work for it.
func (j *job) settled() bool {
	if j.want {
		return j.phase == PhaseRunning && !j.mixed && j.connected()
	}
	return (j.bound == saved || j.stays) && !j.due(Stop)
}

// find returns the index of a job in the table, which is in the order of ids.
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

// add adds a job to the table, unless it is there.
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

// remove removes a job from the table, and ends all waits for it.
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

// awaits reports whether the job's answer to step s is awaited, and until when.
func (j *job) awaits(s Step) (by int64, ok bool) {
	if s == Stop {
		return j.stopBy, j.stopWaited
	}
	return j.by, j.waiting == s && s != Steady
}

// answered ends the wait for the job's answer to step s, if there is one. With the last answer the
// step is over.
func (m *Machine) answered(now int64, j *job, s Step) {
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
	m.answered(now, j, Stop)
	m.answered(now, j, j.waiting)
}
