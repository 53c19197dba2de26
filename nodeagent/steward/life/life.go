package life

import "time"

// Machine is the state machine of a steward: of one job on one node and, if all goes well, of the
// jobs after it. It is for one goroutine; every instant is an input.
type Machine struct {
	config Config
	orders []Order
	lostAt time.Time // when the agent was lost; zero: there is one
	grace  time.Duration
	served int // jobs taken

	job
}

// job is the complete state of one job. The next job starts with the zero value, which is Free.
type job struct {
	phase      Phase
	rules      Rules
	ranks      []rank
	unborn     int  // ranks that may still be forked: all until Start is over
	alive      int  // forked and not reaped
	respawning int  // reaped, and to be forked once more
	failed     bool // a rank has failed, and the gang went on
	closed     int  // alive ranks that closed their PMI connection too early

	ending  bool // the ranks shall end by themselves; a failure does not end the others
	killed  bool // Kill was ordered
	ended   bool // Kill was ordered by the agent, or because the agent was lost, not because of a failure
	aborted bool // ReportAbort was ordered; it is ordered once
	spoken  bool // some rank made contact
	noted   bool // the note on silence was given

	started   bool // at least one rank was forked
	drained   bool // all output has reached a reader
	reader    bool // a reader is attached
	forgotten bool // the job's end is committed
	again     bool // the agent would use the steward again

	leaseUntil time.Time // end of the ranks' lease; zero: they have none
	launchedAt time.Time
	overAt     time.Time
	renewFrom  time.Time
	lingerFrom time.Time // when the wait for a reader of the output began
}

type rank struct {
	state     RankState
	spoken    bool
	finalized bool
	exit      Exit
	closedAt  time.Time // when it closed its PMI connection too early
	due       bool      // to be forked again after all ranks were forked
	respawns  int       // that are left
	begun     int       // respawns so far
}

// New returns the machine of a free steward whose agent has yet to connect.
func New(now time.Time, config Config) *Machine {
	return &Machine{config: config, lostAt: now, grace: max(config.Grace, firstContact)}
}

// Phase returns the phase of the job.
func (m *Machine) Phase() Phase { return m.phase }

// Killed reports whether Kill was ordered.
func (m *Machine) Killed() bool { return m.killed }

// Forgotten reports whether Forget or Recycle was called.
func (m *Machine) Forgotten() bool { return m.forgotten }

// Rank returns how far local rank k has come and, once dead, how it ended.
func (m *Machine) Rank(k int) (RankState, Exit) { return m.ranks[k].state, m.ranks[k].exit }

// Take returns the orders given since the last call. The slice is reused.
func (m *Machine) Take() []Order {
	taken := m.orders
	m.orders = m.orders[:0]
	return taken
}

func (m *Machine) order(kind OrderKind) { m.orders = append(m.orders, Order{Kind: kind}) }

// Prepare begins a job, and reports whether the steward was free for it.
func (m *Machine) Prepare(now time.Time, rules Rules) bool {
	if m.phase != Free {
		return false
	}
	m.rules = rules
	m.ranks = make([]rank, rules.Ranks)
	for k := range m.ranks {
		m.ranks[k].respawns = min(max(rules.Respawn, 0), MaxRespawns)
	}
	m.unborn = rules.Ranks
	m.enter(now, Preparing)
	return true
}

// Prepared ends Preparing. silent replaces Rules.Silent.
func (m *Machine) Prepared(now time.Time, silent bool) {
	if m.phase != Preparing {
		return
	}
	m.rules.Silent = silent
	m.enter(now, Ready)
}

// NotPrepared ends Preparing: the job cannot start. It is over without ReportDone, since the
// failure itself is reported to the agent.
func (m *Machine) NotPrepared(now time.Time) {
	if m.phase != Preparing {
		return
	}
	m.enter(now, Over)
}

// Launch starts the ranks of a job that is ready, once.
func (m *Machine) Launch(now time.Time) {
	if m.phase != Ready {
		return
	}
	m.enter(now, Starting)
}

// Started reports that local rank k was forked. A rank that was forked after
// the kill is killed, too.
func (m *Machine) Started(_ time.Time, k int) {
	if m.phase != Starting || m.ranks[k].state != Unborn {
		return
	}
	m.ranks[k].state = Alive
	m.unborn--
	m.alive++
	m.started = true
	if m.killed {
		m.order(Kill)
	}
}

// StartFailed reports that a rank could not be forked: no other will be, and the forked ones must
// end.
func (m *Machine) StartFailed(now time.Time, abort Abort) { m.Abort(now, abort) }

// StartEnded reports that no more ranks will be forked.
func (m *Machine) StartEnded(now time.Time) {
	if m.phase != Starting {
		return
	}
	complete := m.unborn == 0
	m.unborn = 0
	m.enter(now, Running)
	if complete && !m.killed {
		m.order(ReportLaunched)
	}
	m.beginDue()
	m.reapedAll(now)
}

// Spoke reports that rank k used its PMI connection.
func (m *Machine) Spoke(k int) { m.ranks[k].spoken, m.spoken = true, true }

// Finalized reports that rank k said good-bye on its PMI connection.
func (m *Machine) Finalized(k int) { m.ranks[k].finalized = true }

// Closed reports that rank k's PMI connection has ended. Without a good-bye that is a failure, but
// an exit status that follows soon is the better reason.
func (m *Machine) Closed(now time.Time, k int) {
	r := &m.ranks[k]
	if r.state == Dead || !r.spoken || r.finalized || m.survives(r) {
		return
	}
	if r.closedAt.IsZero() {
		r.closedAt = now
		m.closed++
	}
}

// Exited reports that rank k was reaped. The caller must first report the last events of its PMI
// connection.
func (m *Machine) Exited(now time.Time, k int, exit Exit) {
	r := &m.ranks[k]
	if r.state != Alive {
		return
	}
	exit.ByUs = m.killed && exit.Signal == sigkill && !exit.OutOfMemory
	exit.BeforeFinalize = r.spoken && !r.finalized
	failed := !exit.ByUs && m.fails(exit)
	exit.Survived = failed && m.rules.Recover && !m.killed && !exit.OutOfMemory
	r.state = Dead
	m.alive--
	if !r.closedAt.IsZero() {
		m.closed--
	}
	if m.respawn(k, exit) {
		return
	}
	r.exit = exit
	m.orders = append(m.orders, Order{Kind: ReportExit, Rank: k})
	m.failed = m.failed || exit.Survived
	if failed && !exit.Survived && !m.ending {
		m.kill()
	}
	m.reapedAll(now)
}

// fails reports whether this end of a rank ends the gang: the failure rule.
func (m *Machine) fails(exit Exit) bool {
	return exit.Signal != 0 || exit.OutOfMemory || exit.BeforeFinalize || m.rules.KillOnBadExit && exit.Code != 0
}

// reapedAll begins Sweeping if no rank lives and none will be forked.
func (m *Machine) reapedAll(now time.Time) {
	if m.phase != Running || m.alive+m.respawning > 0 {
		return
	}
	m.noteSilence()
	m.enter(now, Sweeping)
}

// noteSilence warns the user, once, of a program that looks like MPI but never spoke PMI: each of
// its processes runs as "rank 0 of 1".
func (m *Machine) noteSilence() {
	if !m.rules.Silent || m.spoken || m.noted || m.killed {
		return
	}
	m.noted = true
	m.order(NoteSilence)
}

// Abort ends the gang for a reason other than a rank's death. Only the first
// reason is reported.
func (m *Machine) Abort(_ time.Time, abort Abort) {
	if m.phase != Starting && m.phase != Running || m.aborted {
		return
	}
	m.aborted = true
	if !m.ended {
		m.orders = append(m.orders, Order{Kind: ReportAbort, Abort: abort})
	}
	m.kill()
}

// Ending reports that the ranks get a signal that shall end the job. Ranks that handle it go on
// after it has killed others, until they have ended or Kill is ordered. A job that was not launched
// has none, and ends.
func (m *Machine) Ending(now time.Time) {
	switch m.phase {
	case Preparing, Ready:
		m.Kill(now)
	case Starting, Running, Sweeping, Over, Renewing, Gone:
		m.ending = true
	case Free:
	}
}

// Kill ends the job by the agent's order. ReportDone always follows: at once if the job is over,
// else after its end.
func (m *Machine) Kill(now time.Time) {
	switch m.phase {
	case Free, Sweeping, Renewing, Gone:
	case Preparing, Ready:
		m.killed, m.ended = true, true
		m.enter(now, Over)
		m.order(ReportDone)
	case Starting, Running:
		m.ended = true
		m.kill()
	case Over:
		m.order(ReportDone)
	}
}

func (m *Machine) kill() {
	if m.killed {
		return
	}
	m.killed = true
	m.order(Kill)
}

// Swept reports that no process of the job exists any more.
func (m *Machine) Swept(now time.Time) {
	if m.phase != Sweeping {
		return
	}
	m.enter(now, Over)
	m.order(ReportDone)
}

// enter begins a phase. No other method changes the phase.
func (m *Machine) enter(now time.Time, phase Phase) {
	switch m.phase = phase; phase {
	case Free:
		m.job = job{}
		m.order(ReportFree)
	case Preparing:
		m.served++
	case Ready:
	case Starting:
		m.order(Start)
	case Running:
		m.launchedAt = now
	case Sweeping:
		m.order(Sweep)
	case Over:
		m.overAt, m.lingerFrom = now, now
	case Renewing:
		m.renewFrom = now
		m.order(Renew)
	case Gone:
		m.order(Leave)
	}
}
