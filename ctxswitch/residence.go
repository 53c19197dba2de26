package ctxswitch

// Config describes the machine's node.
type Config struct {
	// Channels is the number of contexts that fit on the node's network. Contexts of a job that is
	// off stay on their channels as long as they fit: the stopped processes send nothing, and the
	// link keeps the messages for them. 0: contexts leave in each switch, as is necessary with a
	// link that keeps no messages.
	Channels int
}

// chooseResidents decides which jobs keep their contexts on their channels while they are off. It
// returns true if a job that is not leaving in the present switch lost its channels because another
// job came.
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

// fit sets job.fits for the contexts that may stay on their channels while the row at pos runs; on
// returns true for the jobs of that row. The row's own contexts come first, then those that the
// plan needs soonest, as long as they fit (Belady's rule; the plan knows the future).
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
	for i := range m.jobs { // last, those of jobs in no row
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
