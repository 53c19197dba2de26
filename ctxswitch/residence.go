package ctxswitch

import "slices"

// Config is what a machine has to know of its node.
type Config struct {
	// Channels is how many contexts the node's network has room for. As long as they fit, the
	// contexts of a job that is off stay on their channels: its processes stand still and send
	// nothing, and the link keeps what comes for them. 0: they leave with each switch, as a link
	// needs that keeps nothing.
	Channels int
}

// chooseResidents decides which jobs' contexts stay on their channels while the jobs are off. Those
// of the row that is on have theirs first; then those that the plan needs the soonest, as far as
// they fit (Belady's rule, with a plan that says when). It returns true if a job lost its channels
// that is not leaving just now, since another came.
func (m *Machine) chooseResidents() (lost bool) {
	m.residentsDue = false
	if m.config.Channels == 0 || m.networked == 0 {
		return false
	}
	room := m.config.Channels
	for i := range m.jobs {
		j := &m.jobs[i]
		j.stayed, j.stays = j.stays, false
		if j.want {
			room -= j.contexts
		}
	}
	rows := m.cur.plan.Rows
	for i := 1; i < len(rows) && m.cur.present; i++ {
		for _, id := range rows[(m.slot.Pos+i)%len(rows)].Jobs {
			if j := m.lookup(id); j != nil {
				room -= j.stay(room)
			}
		}
	}
	for i := range m.jobs { // those that are in no row, last
		room -= m.jobs[i].stay(room)
	}
	return slices.ContainsFunc(m.jobs, func(j job) bool { return j.stayed && !j.stays && !j.settled() })
}

// stay lets the job's contexts stay if they are on their channels and fit, and returns how many
// they are.
func (j *job) stay(room int) (taken int) {
	if j.want || j.stays || j.bound != live || j.contexts > room {
		return 0
	}
	j.stays = true
	return j.contexts
}
