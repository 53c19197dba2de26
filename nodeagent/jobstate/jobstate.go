package jobstate

import (
	"slices"
	"time"
)

// Machine is the state of one job's part on this node. It is for one goroutine at a time.
type Machine struct {
	phase    Phase
	recover  bool
	explains bool
	left     []uint32 // ranks whose end was not reported
	effects  []Effect // of the present step

	steward   bool // the job has or had a steward
	lost      bool // the steward has crashed or was given up: phase >= Orphaned
	settled   bool // the steward has its order, or will never have one
	killed    bool // the job shall end; it never becomes false
	forgotten bool // implies killed; no more reports to the leader
	retired   bool // implies forgotten and settled
	refused   bool // the leader knows why the job cannot start; its end is reported only if the leader asks
	goesOn    bool // the job goes on without this node's ranks: phase >= Orphaned

	// The escalation of a kill: first the steward kills. The agent kills quickly until patientAt,
	// then patiently, and ends the steward KillTimeout later. nextAt is zero without an escalation,
	// and once the job is over.
	nextAt, patientAt time.Time
	patient           bool
	exhausted         bool // the last escalation has failed: the steward counts as lost
}

// New returns the machine of an ordered job.
func New(config Config) *Machine {
	return &Machine{recover: config.Recover, explains: config.Explains, left: slices.Clone(config.Ranks)}
}

// Phase returns the job's phase.
func (m *Machine) Phase() Phase { return m.phase }

// Killed reports whether the job shall end.
func (m *Machine) Killed() bool { return m.killed }

// Forgotten reports whether the leader has forgotten the job.
func (m *Machine) Forgotten() bool { return m.forgotten }

// Settled reports whether the steward has its order, or will never have one.
func (m *Machine) Settled() bool { return m.settled }

// Lost reports whether the steward has crashed or was given up.
func (m *Machine) Lost() bool { return m.lost }

// Left lists the ranks whose end was not reported.
func (m *Machine) Left() []uint32 { return slices.Clone(m.left) }

// Exited records that the end of a rank was reported.
func (m *Machine) Exited(rank uint32) {
	m.left = slices.DeleteFunc(m.left, func(r uint32) bool { return r == rank })
}

// Deadline returns when Tick is due; the zero time: never.
func (m *Machine) Deadline() time.Time { return m.nextAt }

// Step handles an event and returns the effects. Events that come too late do nothing.
func (m *Machine) Step(now time.Time, event Event) []Effect {
	m.effects = nil
	m.apply(now, event)
	if m.exhausted && m.steward && m.settled {
		m.lose() // no event reports its end if its connection is closed first, or if it hangs
	}
	if m.forgotten && m.settled && !m.retired && (m.phase == Over || m.exhausted && m.phase != Orphaned) {
		m.retired = true // not while Sweep kills: the container must not be another job's
		m.order(Retire)
	}
	return m.effects
}

// apply makes the transition of an event.
func (m *Machine) apply(now time.Time, event Event) {
	running := m.phase < Orphaned // from Orphaned on, Swept reports that no process is left
	switch event {
	case Claimed:
		m.claim()
	case Adopted:
		m.steward, m.settled = true, true
		m.enter(Preparing)
	case Stopped, Done:
		if running {
			m.enter(Clearing, Clear)
		}
	case Refused:
		if running {
			m.refused = true
			m.enter(Clearing, Clear)
		}
	case Settled:
		m.settle(now, running)
	case Prepared:
		if m.phase == Preparing {
			m.enter(Ready)
		}
	case Forked:
		if m.phase == Preparing || m.phase == Ready {
			m.enter(Launched)
		}
	case Lost:
		if running {
			m.order(EndSteward)
			m.lose()
		}
	case Swept:
		m.clearOrphan()
	case Cleared:
		m.end()
	case Kill:
		m.kill(now)
	case Forget:
		m.forget(now)
	case Tick:
		m.tick(now)
	}
}

// claim continues with the job's new steward. If the job was killed meanwhile, the steward has only
// to explain that.
func (m *Machine) claim() {
	m.steward = true
	switch {
	case !m.killed:
		m.enter(Preparing, Switch)
	case m.explains:
		m.enter(Preparing)
	default:
		m.enter(Clearing, Clear)
	}
}

// settle records that the steward has its order or will never have one, and completes a kill that
// came before.
func (m *Machine) settle(now time.Time, running bool) {
	m.settled = true
	if m.killed && m.steward && running {
		m.order(KillSteward)
	}
	if m.forgotten {
		m.escalate(now)
	}
}

// clearOrphan clears a job without a steward once no process of it is left.
func (m *Machine) clearOrphan() {
	switch {
	case m.phase != Orphaned:
	case m.goesOn:
		m.enter(Clearing, ReportKilled, Clear)
	default:
		m.enter(Clearing, Clear)
	}
}

// end ends the job's part. It reports that to the leader, unless the leader already knows why the
// job could not start.
func (m *Machine) end() {
	switch {
	case m.phase != Clearing:
	case m.refused && !m.killed:
		m.enter(Over, End)
	default:
		m.enter(Over, ReportDone, End)
	}
}

// lose continues without the steward, unless no process of the job is left.
func (m *Machine) lose() {
	if m.phase >= Orphaned {
		return
	}
	m.lost, m.goesOn = true, m.phase == Launched && m.recover && !m.killed
	if m.goesOn {
		m.enter(Orphaned, Sweep)
		return
	}
	m.enter(Orphaned, ReportLoss, Sweep)
}

// enter begins a phase. No other method changes the phase.
func (m *Machine) enter(phase Phase, effects ...Effect) {
	m.phase = phase
	if phase == Over {
		m.nextAt = time.Time{}
	}
	m.order(effects...)
}

func (m *Machine) order(effects ...Effect) { m.effects = append(m.effects, effects...) }

// kill ends the job in any phase. It reports a job that is over again, since the report may be lost
// or the job never started.
func (m *Machine) kill(now time.Time) {
	if m.phase == Over {
		m.order(RepeatDone)
		return
	}
	m.order(StopStaging)
	if m.steward {
		m.order(KillSteward)
	}
	if !m.killed {
		m.killed = true
		m.escalate(now)
	}
}

// forget drops the job, and ends it if it is not over.
func (m *Machine) forget(now time.Time) {
	if m.forgotten {
		return
	}
	m.killed, m.forgotten = true, true
	m.order(Unswitch)
	if m.phase == Over {
		return
	}
	m.order(NoteEnding)
	if m.settled && m.steward {
		m.order(KillSteward)
	}
	m.escalate(now)
}

// escalate begins the escalation of a kill, unless it is already under way.
func (m *Machine) escalate(now time.Time) {
	if m.phase == Over || !m.nextAt.IsZero() {
		return
	}
	m.nextAt, m.patientAt = now.Add(KillAlone), now.Add(KillTimeout)
	m.patient, m.exhausted = false, false
	m.order(Watch)
}

// tick escalates a kill that takes long.
func (m *Machine) tick(now time.Time) {
	switch {
	case m.nextAt.IsZero() || now.Before(m.nextAt):
	case m.patient:
		m.nextAt, m.exhausted = time.Time{}, true
		m.order(EndSteward)
	case now.Before(m.patientAt):
		m.nextAt = now.Add(KillAlone)
		if m.steward {
			m.order(KillQuickly)
		}
	case !m.steward: // Claiming is bounded, and then finds the job killed
		m.nextAt, m.exhausted = time.Time{}, true
	default:
		m.patient, m.nextAt = true, now.Add(KillTimeout)
		m.order(KillPatiently)
	}
}
