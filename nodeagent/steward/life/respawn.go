package life

import "time"

// AllowRespawns permits the given number of restarts of local rank k from now on when it fails.
func (m *Machine) AllowRespawns(k, times int) {
	m.ranks[k].respawns = min(max(times, 0), MaxRespawns)
}

// survives reports whether the gang goes on when a rank fails.
func (m *Machine) survives(r *rank) bool { return m.rules.Recover || r.respawns > 0 }

// respawn orders a new process for a dead rank, if that is allowed. Any end but exit code 0 after
// the good-bye is a failure here. A rank that was killed for lack of memory is not started again,
// since the next process needs as much.
func (m *Machine) respawn(k int, exit Exit) bool {
	r := &m.ranks[k]
	if r.respawns == 0 || m.killed || m.ending || m.phase != Starting && m.phase != Running || exit.OutOfMemory || exit.ByUs {
		return false
	}
	if exit.Code == 0 && exit.Signal == 0 && !exit.BeforeFinalize {
		return false
	}
	*r = rank{state: Dead, exit: exit, due: true, respawns: r.respawns - 1, begun: r.begun + 1}
	m.respawning++
	m.failed = true
	if m.phase == Running {
		m.begin(k)
	}
	return true
}

// begin orders the respawn of a rank or, after a kill, reports its exit instead.
func (m *Machine) begin(k int) {
	r := &m.ranks[k]
	r.due = false
	if m.killed {
		m.respawning--
		m.orders = append(m.orders, Order{Kind: ReportExit, Rank: k})
		return
	}
	m.orders = append(m.orders, Order{Kind: Respawn, Rank: k, Incarnation: r.begun})
}

// beginDue orders the respawns of ranks that died while others were still being forked.
func (m *Machine) beginDue() {
	for k := range m.ranks {
		if m.ranks[k].due {
			m.begin(k)
		}
	}
}

// Respawned reports that rank k was forked again. A rank that was forked after the kill is killed,
// too.
func (m *Machine) Respawned(_ time.Time, k int) {
	r := &m.ranks[k]
	if r.state != Dead || m.respawning == 0 {
		return
	}
	m.respawning--
	m.alive++
	r.state, r.exit = Alive, Exit{}
	if m.killed {
		m.order(Kill)
	}
}

// RespawnFailed reports that rank k could not be forked again, or need not be because the gang
// ends. Its last exit counts.
func (m *Machine) RespawnFailed(now time.Time, k int, abort Abort) {
	if m.ranks[k].state != Dead || m.respawning == 0 {
		return
	}
	m.respawning--
	m.orders = append(m.orders, Order{Kind: ReportExit, Rank: k})
	if !m.killed {
		m.Abort(now, abort)
	}
	m.reapedAll(now)
}
