package drive

import "score/flowctl"

// A context leaves its channel in three steps, under the agent's lock: Flush, Drive until
// Flushed, Suspend. Whatever comes then is refused (away) by whoever drives it. Resume brings it
// back. See flowctl for what each means for a pair.

// Flush stops the sending of frames, and asks for what is unanswered.
func (d *Driver) Flush(now int64) {
	d.now = now
	d.eachActive(func(p *peer) {
		p.send.Flush(&d.flow, now)
		p.recv.Flush()
	})
	d.sendTouched()
}

// Flushed says that nothing of this context is in flight.
func (d *Driver) Flushed() bool {
	for rank, ok := d.img.NextActive(0); ok; rank, ok = d.img.NextActive(rank + 1) {
		if p := d.peer(rank); p != nil && !p.send.Failed() && !p.send.Flushed() {
			return false
		}
	}
	return true
}

// Suspend makes the context not resident: timers stand still, and all that comes is refused.
func (d *Driver) Suspend(now int64) {
	d.now = now
	d.img.SetAway(true)
	d.eachActive(func(p *peer) {
		p.send.Suspend(now)
		p.recv.Suspend(now)
	})
	for _, p := range d.touched {
		p.touched = false
	}
	d.touched = d.touched[:0]
	d.due = flowctl.NoDeadline
}

// Resume ends Flush and Suspend: what was refused or unsent is sent, and peers that were
// refused are told.
func (d *Driver) Resume(now int64) {
	d.now = now
	d.img.SetAway(false)
	d.due = now
	d.eachActive(func(p *peer) {
		if p.send.Resume(&d.flow, now) {
			d.lose(p)
		}
		p.recv.Resume(&d.flow, now, d.hint(p))
	})
	d.sendTouched()
}

// HeldAway says that something waits for a peer that is not resident.
func (d *Driver) HeldAway() bool {
	for rank, ok := d.img.NextActive(0); ok; rank, ok = d.img.NextActive(rank + 1) {
		if p := d.peer(rank); p != nil && p.unsettled() && p.send.Held() == flowctl.HeldAway {
			return true
		}
	}
	return false
}

// eachActive calls f with all peers that have something pending, which then may have
// something to send.
func (d *Driver) eachActive(f func(*peer)) {
	for rank, ok := d.img.NextActive(0); ok; rank, ok = d.img.NextActive(rank + 1) {
		p := d.peer(rank)
		if p == nil {
			continue
		}
		f(p)
		d.touch(p)
	}
}
