package flowctl

// Sender is the state of the sending side of a pair. The zero value is a fresh
// sender, whose first frame has number 0. Its layout is part of the image (see
// DESIGN.md); una, nxt, max and end are numbers of frames and lie in this order:
//
//	una <= nxt <= max <= end
//	 | sent, unanswered | refused or lost | never sent |
type Sender struct {
	una Seq // oldest frame that is not acknowledged; earlier ones are released
	nxt Seq // frame that is sent next
	max Seq // one past the newest frame that was ever sent
	end Seq // one past the newest frame that is queued

	tx    Tx // newest transmission
	echo  Tx // newest transmission that was answered
	back  Tx // newest transmission when the sender last went back to una
	asked Tx // newest transmission that wanted an answer at once

	limit  Seq    // the policy's: room or credits told by the receiver
	srtt   uint32 // smoothed round trip, ns; 0 = not measured
	rttvar uint32 // its mean deviation, ns
	window uint16 // frames that may be in flight; 0 = not begun
	grown  uint16 // frames acknowledged since the window grew

	deadline int64 // when to ask; 0 = never; of a suspended sender: the time left
	silent   int64 // when the oldest ask without answer was sent; 0 = none
	sampleAt int64 // when transmission sample was sent, if flagSampling
	sample   Tx    // transmission whose round trip is being measured

	hold  Hold
	flags uint8
	tries uint8 // asks since the last answer, or probes since the refusal
	cause uint8 // of a failed sender: why, if it is not that the peer is gone
}

// Values of Sender.cause.
const causePolicy = 1 // the peer uses another policy

// Hold says why a sender does not send.
type Hold uint8

// The holds.
const (
	// Open: it sends what the policy allows.
	Open Hold = iota
	// HeldFull: the receiver has no room, and will tell when it has.
	HeldFull
	// HeldAway: the receiver is not resident, and will tell when it is.
	HeldAway
	// HeldDry: no credits, and nothing in flight whose answer could bring some.
	HeldDry
)

// Flags of a sender.
const (
	flagSampling  = 1 << iota // sample is being measured
	flagHinted                // limit is valid (AckNack)
	flagAskDue                // an ask is to be sent
	flagFlushing              // nothing new is sent until Resume
	flagSuspended             // timers stand still, answers are dropped
	flagFailed                // the peer is gone; terminal
	flagClosed                // with flagFailed: the peer closed its end
	flagPaused                // a deadline was missed, and the peer got another
)

// Reset makes a fresh sender whose first frame has number seq.
func (s *Sender) Reset(seq Seq) {
	tx := Tx(seq)
	*s = Sender{una: seq, nxt: seq, max: seq, end: seq, tx: tx, echo: tx, back: tx, asked: tx, limit: seq}
}

// Queue reports that n more frames lie in the send buffer.
func (s *Sender) Queue(n uint32) { s.end += Seq(n) }

// Send returns what may be transmitted now, at most limit frames, and counts it
// as transmitted: what the caller then fails to transmit is as lost on the wire.
// The caller calls again until the burst is empty or its link is full.
func (s *Sender) Send(c *Config, now int64, limit uint32) Burst {
	if limit == 0 || s.flags&(flagSuspended|flagFailed) != 0 {
		return Burst{}
	}
	first, count, ask := s.nxt, uint32(0), s.flags&flagAskDue != 0
	if queued := s.Unsent(); queued != 0 && s.hold == Open && s.flags&flagFlushing == 0 {
		allowed := c.Policy.MaySend(c, s)
		if allowed == 0 && s.una == s.nxt {
			// No answer is under way that could allow more.
			s.pause(c, now, HeldDry)
		}
		count = min(queued, allowed, limit)
		if count == allowed && allowed != 0 && allowed < queued && !after(s.asked, s.echo) {
			// The window closes: an answer at once opens it soonest. One ask in
			// a window, or each answered frame would ask for itself.
			ask = true
		}
	}
	if count == 0 && !ask {
		return Burst{}
	}
	again := min(distance(first, s.max), count)
	s.nxt += Seq(count)
	if after(s.nxt, s.max) {
		s.max = s.nxt
	}
	tx := s.tx + 1
	s.tx += Tx(max(count, 1))
	if ask {
		s.flags &^= flagAskDue
		s.asked = s.tx
		if s.silent == 0 {
			s.silent = now
		}
	}
	if s.flags&flagSampling == 0 {
		s.flags |= flagSampling
		s.sample, s.sampleAt = s.tx, now
	}
	if s.deadline == 0 {
		s.deadline = now + s.rto(c)
	}
	return Burst{First: first, Count: count, Again: again, Tx: tx, Ask: ask, Want: c.Policy.Wants(c, s)}
}

// Tick reports that now may be the deadline. It returns true if the peer is now
// taken for gone.
func (s *Sender) Tick(c *Config, now int64) (failed bool) {
	if now < s.Deadline() || s.wasPaused(c, now) {
		return false
	}
	if s.silent != 0 && now-s.silent >= int64(c.FailAfter) {
		s.Fail()
		return true
	}
	// Asking costs a header and tells exactly what is missing; to send frames
	// again on a guess would load a receiver that is only slow.
	// What was being measured may be lost; the ask will be measured instead.
	s.flags |= flagAskDue
	s.flags &^= flagSampling
	if s.tries < maxShift {
		s.tries++
	}
	s.deadline = now + s.patience(c)
	return false
}

// wasPaused reports whether nobody drove the sender for so long that its timers stood still. What
// the peer had to say may be on its way, since it goes on about now: it is given a moment, once
// between two answers.
func (s *Sender) wasPaused(c *Config, now int64) bool {
	late := now - s.deadline
	if late < int64(minPause) || s.flags&flagPaused != 0 {
		return false
	}
	s.flags |= flagPaused
	s.flags &^= flagSampling
	s.deadline = now + int64(c.RTOFloor)
	if s.silent != 0 {
		s.silent += late
	}
	return true
}

// Flush stops the sending of frames and, if something sent is unanswered, asks.
// When [Sender.Flushed] is true nothing of this sender is in flight. Resume
// ends it.
func (s *Sender) Flush(c *Config, now int64) {
	if s.flags&(flagSuspended|flagFailed) != 0 {
		return
	}
	s.flags |= flagFlushing
	if s.tx == s.echo {
		return
	}
	s.flags |= flagAskDue
	// Agents answer now, and a slice is waiting: the wait is the shortest.
	s.deadline, s.tries = now+int64(c.RTOFloor), 0
}

// Suspend reports that the context is leaving its channel: timers stand still.
func (s *Sender) Suspend(now int64) {
	if s.flags&(flagSuspended|flagFailed) != 0 {
		return
	}
	s.flags |= flagSuspended
	s.flags &^= flagSampling
	if s.deadline != 0 {
		s.deadline = max(s.deadline-now, 1)
	}
	if s.silent != 0 {
		s.silent = max(now-s.silent, 1)
	}
}

// Resume ends Flush and Suspend. A sender that was held, or has something
// unanswered, asks at once: what it waited for may have come and gone. It returns
// what Tick does.
func (s *Sender) Resume(c *Config, now int64) (failed bool) {
	if s.flags&flagFailed != 0 {
		return false
	}
	if s.flags&flagSuspended != 0 {
		if s.deadline != 0 {
			s.deadline += now
		}
		if s.silent != 0 {
			s.silent = now - s.silent
		}
	}
	s.flags &^= flagSuspended | flagFlushing
	if s.hold == Open && s.tx == s.echo {
		return false
	}
	s.deadline, s.tries = now, 0
	return s.Tick(c, now)
}

// Fail reports that the peer is gone. Nothing is sent any more. It takes back Finish.
func (s *Sender) Fail() {
	s.flags, s.cause = flagFailed, 0
	s.deadline = 0
}

// Mismatch reports that the peer uses another policy. It is Fail for a better reason.
func (s *Sender) Mismatch() {
	s.Fail()
	s.cause = causePolicy
}

// Finish reports that the peer closed its end. It is Fail for a better reason.
func (s *Sender) Finish() {
	if s.flags&flagFailed != 0 {
		return
	}
	s.Fail()
	s.flags |= flagClosed
}
