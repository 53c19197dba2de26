package ctxswitch

// Config holds what a machine must know of its node.
type Config struct {
	// Channels is how many contexts the node's network has room for. As long as they fit, the
	// contexts of a job that is off stay on their channels: its processes stand still and send
	// nothing, and the link keeps what comes for them. 0: they leave with each switch, as a link
	// needs that keeps nothing.
	Channels int
}

// chooseResidents decides which jobs' contexts stay on their channels while the jobs are off. It
// returns true if a job lost its channels that is not leaving just now, since another came.
func (m *Machine) chooseResidents() (lost bool) {
	m.residentsDue = false
	if m.config.Channels == 0 || m.networked == 0 {
		return false
	}
	m.fit(m.slot.Pos, func(j *job) bool { return j.want })
	for i := range m.jobs {
		j := &m.jobs[i]
		stayed := j.stays
		j.stays = j.fits
		lost = lost || stayed && !j.stays && !j.settled()
	}
	return lost
}

// fit finds whose contexts may stay on their channels (job.fits) while the row at pos is on, which
// has the jobs that on says. Those of the row have theirs first; then those that the plan needs the
// soonest, as far as they fit (Belady's rule, with a plan that says when).
func (m *Machine) fit(pos int, on func(*job) bool) {
	room := m.config.Channels
	for i := range m.jobs {
		j := &m.jobs[i]
		if j.fits, j.on = false, on(j); j.on {
			room -= j.contexts
		}
	}
	rows := m.cur.plan.Rows
	for i := 1; i < len(rows) && m.cur.present; i++ {
		for _, id := range rows[(pos+i)%len(rows)].Jobs {
			if j := m.lookup(id); j != nil {
				room -= j.fit(room)
			}
		}
	}
	for i := range m.jobs { // those that are in no row, last
		room -= m.jobs[i].fit(room)
	}
}

// fit lets the job's contexts stay if they are on their channels and fit, and returns how many
// they are.
func (j *job) fit(room int) (taken int) {
	if j.on || j.fits || j.bound != live || j.contexts > room {
		return 0
	}
	j.fits = true
	return j.contexts
}
