package life

import "time"

// Lease lets the job's ranks live until an instant. A job that was never given a
// lease needs none; one that was ends when it lapses, whether there is an agent
// or not, so that the cluster may begin it again elsewhere.
func (m *Machine) Lease(now, until time.Time) {
	if m.phase == Free || m.phase == Gone {
		return
	}
	if until.After(m.leaseUntil) {
		m.leaseUntil = until
	}
	m.Tick(now)
}

// lapses ends a job whose lease is over.
func (m *Machine) lapses(now time.Time) {
	if !m.leased() || now.Before(m.leaseUntil) {
		return
	}
	abort := Abort{Rank: -1, Lapsed: true}
	if m.phase == Preparing || m.phase == Ready {
		m.aborted = true
		m.orders = append(m.orders, Order{Kind: ReportAbort, Abort: abort})
		m.Kill(now)
		return
	}
	m.Abort(now, abort)
}

// leased reports whether there is something that a lease would end.
func (m *Machine) leased() bool {
	if m.leaseUntil.IsZero() || m.killed {
		return false
	}
	switch m.phase {
	case Preparing, Ready, Starting, Running:
		return true
	case Free, Sweeping, Over, Renewing, Gone:
	}
	return false
}
