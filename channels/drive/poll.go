package drive

// Poll is Drive for a process that polls: it polls the port up to polls times, until something
// comes. An empty poll rarely reads the clock, and a single message reaches the process at once.
// What else its datagram brought is done in the next section, at the latest at the next empty poll.
func (d *Driver) Poll(polls int) (progress bool) {
	d.clocked = false
	progress = d.take()
	for ; !progress && polls > 1; polls-- {
		d.clock() // read it now, so that a datagram that comes meanwhile need not wait for it
		progress = d.take()
	}
	if !progress && d.img.Far() {
		d.rewind()
	}
	switch {
	case progress && d.postpone():
		return true
	case progress || d.clocked || len(d.touched) > 0 || d.refusing > 0:
	default:
		if d.emptyPolls++; d.emptyPolls%clockEvery != 0 {
			return false
		}
	}
	d.clock()
	d.act()
	return progress
}

// rewind lets the network lane be used again from its start. Credits are promises of room, which a
// rewind would break for a moment.
func (d *Driver) rewind() {
	if d.credit == nil && d.inbox() {
		d.in.Rewind()
	}
}

// postpone reports whether the work for touched peers can wait for the next section: nothing must
// be sent, and nobody waits for room. Another driver that comes in between finds these peers in the
// map of active ones.
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
