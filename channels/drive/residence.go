package drive

import "score/flowctl"

// A context leaves its channel in three steps, under the agent's lock: Flush, Drive until
// Flushed, Suspend. Whatever comes then is refused (away) by whoever drives it. Resume
// brings it back. See flowctl for what each means for a pair.

// Flush stops the sending of frames, and asks for what is unanswered.
func (d *Driver) Flush(now int64) {
	d.now = now
	d.repairFollow()
	d.eachActive(func(p *peer) {
		p.send.Flush(&d.flow, now)
		p.recv.Flush()
	})
	d.sendTouched()
}

// Flushed reports whether nothing of this context is in flight.
func (d *Driver) Flushed() bool {
	for rank := range d.img.Active() {
		if p := d.peer(rank); p != nil && !p.send.Failed() && !p.send.Flushed() {
			return false
		}
	}
	return true
}

// Suspend makes the context not resident: all that comes is refused, and no deadline is waited for.
// It takes the same time whatever is in the buffers; in the same section, Follow does the rest.
func (d *Driver) Suspend(now int64) {
	d.now = now
	d.img.SetAway(true)
	d.due = flowctl.NoDeadline
}

// Resume ends Flush and Suspend. It takes the same time whatever is in the buffers; in the same
// section, Follow does the rest.
func (d *Driver) Resume(now int64) {
	d.now = now
	d.img.SetAway(false)
	d.due = now
}

// Follow brings the peers to the state of the context after Suspend or Resume: either their timers
// stand still, or what was refused or unsent is sent, and peers that were refused meanwhile get
// Ready.
func (d *Driver) Follow() {
	d.mended = false
	if d.img.Away() {
		d.suspendPeers()
		return
	}
	d.eachActive(func(p *peer) {
		if p.send.Resume(&d.flow, d.now) {
			d.lose(p)
		}
		p.recv.Resume(&d.flow, d.now, d.hint(p))
	})
	d.sendTouched()
}

// repairFollow completes what an agent may have left half done if it was killed before Follow, or
// after Flush.
func (d *Driver) repairFollow() {
	if d.mended {
		d.Follow()
	}
}

func (d *Driver) suspendPeers() {
	d.eachActive(func(p *peer) {
		p.send.Suspend(d.now)
		p.recv.Suspend(d.now)
	})
	for _, p := range d.touched {
		p.touched = false
	}
	d.touched = d.touched[:0]
}

// HeldAway reports whether something waits for a peer that is not resident.
func (d *Driver) HeldAway() bool {
	for rank := range d.img.Active() {
		if p := d.peer(rank); p != nil && p.unsettled() && p.send.Held() == flowctl.HeldAway {
			return true
		}
	}
	return false
}

// eachActive calls f with all peers that have something pending, which then may have
// something to send.
func (d *Driver) eachActive(f func(*peer)) {
	for rank := range d.img.Active() {
		p := d.peer(rank)
		if p == nil {
			continue
		}
		f(p)
		d.touch(p)
	}
}
