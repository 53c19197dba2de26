package life

import "time"

// Lease lets the job's ranks live until an instant. A job that never got a lease needs none. A job
// with a lease ends when the lease expires, with or without an agent, so that the cluster may start
// it again elsewhere.
func (m *Machine) Lease(now, until time.Time) {
	if m.phase == Free || m.phase == Gone {
		return
	}
	if until.After(m.leaseUntil) {
		m.leaseUntil = until
	}
	m.Tick(now)
}

// expireLease ends a job if its lease has expired.
func (m *Machine) expireLease(now time.Time) {
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

// leased reports whether the job has a lease that can still end it.
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
