package drive

// Poll is Drive for a process that polls: it looks so many times, until something comes. One look
// that finds nothing does not read the clock each time, and a message that came alone is the
// process's at once. What else its datagram brought is done in the next section, by the next miss
// at the latest.
func (d *Driver) Poll(looks int) (progress bool) {
	d.clocked = false
	progress = d.take()
	for ; !progress && looks > 1; looks-- {
		d.clock() // now, so that what comes meanwhile need not wait for it
		progress = d.take()
	}
	switch {
	case progress && d.postpone():
		return true
	case progress || d.clocked || len(d.touched) > 0 || d.refusing > 0:
	default:
		if d.vain++; d.vain%clockEvery != 0 {
			return false
		}
	}
	d.clock()
	d.act()
	return progress
}

// postpone reports whether what touched peers need can wait for the next section: nothing is to be
// sent, nobody waits for room. A driver that comes in between finds these peers by the map of active
// ones.
func (d *Driver) postpone() bool {
	if d.refusing > 0 || d.now >= d.due || d.img.Away() {
		return false
	}
	for _, p := range d.touched {
		if p.recv.Due() || p.recv.Waits(&d.flow) || p.send.Sendable(&d.flow) {
			return false
		}
	}
	for _, p := range d.touched {
		d.img.SetActive(p.rank, true)
		d.due = min(d.due, p.recv.Deadline(), p.send.Deadline())
	}
	return true
}
