package ctxswitch

// Config describes the node to a machine.
type Config struct {
	// Channels is the number of contexts that the node's network has room for. As long as they fit,
	// the contexts of a job that is off stay on their channels: its processes are stopped and send
	// nothing, and the link keeps messages for them. 0: contexts leave at each switch, which is
	// required for a link that keeps no messages.
	Channels int
}

// chooseResidents decides which jobs' contexts stay on their channels while the jobs are off. lost
// reports whether a job that is not leaving in this switch lost its channels to another job.
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

// fit determines whose contexts may stay on their channels (job.fits) while the row at pos is on,
// whose jobs are those for which on is true: first the jobs of the row, then those that the plan
// needs soonest, as far as they fit (Belady's rule, with a known future).
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

// fit lets the job's contexts stay if they are on their channels and fit, and returns their number.
func (j *job) fit(room int) (taken int) {
	if j.on || j.fits || j.bound != live || j.contexts > room {
		return 0
	}
	j.fits = true
	return j.contexts
}
