package flowctl

// OnAnswer takes an answer and returns how many frames it released: the send
// buffer is free up to [Sender.Acked]. Answers that cannot be meant, stale ones
// among them, change nothing.
func (s *Sender) OnAnswer(c *Config, now int64, a Answer) (released uint32) {
	if s.flags&(flagSuspended|flagFailed) != 0 || a.Kind > Ready || after(a.Echo, s.tx) {
		return 0
	}
	if a.Kind != Away {
		released = distance(s.una, a.Next)
		if released > distance(s.una, s.max) {
			return 0 // overtaken by a later answer
		}
	}
	fresh := !after(s.echo, a.Echo)
	s.back = pulled(s.back, s.tx)
	// An answer is current if it tells of frames sent since the sender last went back.
	// What an older one calls refused or missing has been sent again meanwhile.
	current := after(a.Echo, s.back)
	s.onPeer(now, a.Echo, fresh)
	if released != 0 {
		s.release(c, a.Next, released)
	}
	if fresh && a.Kind != Away {
		c.Policy.Learn(c, s, a.Next+Seq(a.Room))
	}
	s.act(c, now, a.Kind, fresh, current)
	s.rearm(c, now, fresh)
	return released
}

// act does what the answer's kind asks for. Only a fresh answer ends a hold, and only a current one
// tells what was refused or lost.
func (s *Sender) act(c *Config, now int64, kind Kind, fresh, current bool) {
	switch kind {

	// The receiver waits for Next. If this sender was held, what was refused
	// has been accepted, or credits have come.
	case Ack:
		if fresh {
			s.open()
		}

	// There is room for what was refused. If the refusal itself was lost, the sender learns of it
	// only by this answer.
	case Ready:
		if fresh {
			if current {
				s.goBack()
			}
			s.open()
		}

	// A frame is missing. All after it were refused, so that all are sent again.
	case Gap:
		if current {
			s.cut(c, gapCut)
			s.goBack()
			s.open()
		}

	// No room. Nothing would be accepted before Ready.
	case Full:
		if current {
			s.cut(c, fullCut)
			s.goBack()
			s.pause(c, now, HeldFull)
		}

	// Not resident. The network and the receiver's room are as good as before,
	// so the window stays.
	case Away:
		if current {
			s.goBack()
			s.pause(c, now, HeldAway)
		}
	}
}

// rearm sets the deadline after an answer.
func (s *Sender) rearm(c *Config, now int64, fresh bool) {
	switch {
	case s.hold != Open:
		// The probe's time stands since the refusal.
	case s.una == s.nxt && (s.flags&flagFlushing == 0 || s.tx == s.echo):
		s.deadline, s.tries = 0, 0
	case fresh:
		s.deadline, s.tries = now+s.rto(c), 0
	}
}

// onPeer notes that the peer is alive and which transmissions it has seen.
func (s *Sender) onPeer(now int64, echo Tx, fresh bool) {
	s.silent = 0
	s.flags &^= flagPaused
	if !fresh {
		return
	}
	s.echo = echo
	if after(echo, s.asked) {
		s.asked = echo
	}
	if s.flags&flagSampling != 0 && !after(s.sample, echo) {
		s.flags &^= flagSampling
		if s.deadline == 0 || now < s.deadline+int64(minPause) {
			s.measure(now - s.sampleAt) // else there may be a pause in it
		}
	}
}

// release takes the acknowledgement of all frames before next, n of them.
func (s *Sender) release(c *Config, next Seq, n uint32) {
	s.una = next
	if after(next, s.nxt) {
		s.nxt = next // an earlier copy of what was to be sent again came through
	}
	s.grow(c, n)
}

// goBack makes the oldest frame that is not acknowledged the next.
func (s *Sender) goBack() {
	s.nxt = s.una
	s.back = s.tx
}

// open ends a hold.
func (s *Sender) open() {
	if s.hold != Open {
		s.hold, s.tries = Open, 0
	}
}

// pause begins a hold, or after another refusal goes on with its backoff.
func (s *Sender) pause(c *Config, now int64, why Hold) {
	if s.hold != why {
		s.hold, s.tries = why, 0
	}
	s.deadline = now + s.patience(c)
}
