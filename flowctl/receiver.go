package flowctl

// Receiver is the state of the receiving side of a pair. The zero value is a
// fresh receiver that waits for frame 0. Its layout is part of the image (see
// DESIGN.md).
type Receiver struct {
	next Seq    // frame that is accepted next; all earlier ones are accepted
	echo Tx     // newest transmission seen
	high Seq    // while refusing: one past the last frame refused in this round
	gave Seq    // the policy's: credits given
	owed uint16 // frames taken since the last answer

	kind  Kind // Ack: in order; else why frames are refused, or Ready told
	flags uint8
	tries uint8 // times that Ready was sent again
	_     [11]uint8

	deadline int64 // when to answer; 0 = never; of a suspended receiver: the time left
}

// Flags of a receiver.
const (
	flagDue    = 1 << iota // an answer is to be sent now
	flagWanted             // the sender requested credits that it has not got
	flagLeft               // not resident
	flagGone               // the sender is gone: nothing is reserved for it
)

// Reset makes a fresh receiver that waits for frame seq.
func (r *Receiver) Reset(seq Seq) {
	*r = Receiver{next: seq, echo: Tx(seq), gave: seq}
}

// OnData takes the header of a data frame. room is how many frames the inbox can
// take from this sender now ([Config.RoomFor]). With room 0 the frame is refused.
func (r *Receiver) OnData(c *Config, now int64, d Data, room uint32) Verdict {
	newer := after(d.Tx, r.echo)
	if newer {
		r.echo = d.Tx
	}
	if d.Mark != 0 {
		r.mark(d.Mark)
	}
	ahead := int32(d.Seq - r.next)

	switch {

	// The context is not on its channel; the inbox is not looked at.
	case r.flags&flagLeft != 0:
		r.refuse(Away, d.Seq, newer)
		return Refuse

	// Sent again for want of an answer: it gets one. A copy that the network
	// made gets none.
	case ahead < 0:
		if newer {
			r.countOwed(c, now)
		}
		return Duplicate

	// In order. Whatever was refused before it, order is kept from here on.
	case ahead == 0 && c.Policy.Accepts(c, r, room):
		r.next++
		if r.kind != Ack {
			r.kind, r.deadline = Ack, 0
		}
		r.countOwed(c, now)
		return Accept

	// In order, but there is no room.
	case ahead == 0:
		r.refuse(Full, d.Seq, newer)
		return Refuse

	// It follows a frame that was refused for another reason than a gap: it was under way when the
	// refusal was sent.
	case (r.kind == Full || r.kind == Away || r.kind == Ready) && !r.again(d.Seq, newer):
		r.refuse(r.kind, d.Seq, newer)
		return Refuse

	// One before it is missing.
	default:
		r.refuse(Gap, d.Seq, newer)
		return Refuse
	}
}

// TakeBack undoes the acceptance of frame seq, if it was the last: it could not be kept. No answer
// must have been sent since.
func (r *Receiver) TakeBack(seq Seq) {
	if r.next == seq+1 {
		r.next = seq
	}
}

// OnAsk takes an ask: the sender has sent all frames before d.Seq and wants to
// know what became of them. The answer is due at once.
func (r *Receiver) OnAsk(c *Config, now int64, d Data, room uint32) {
	if after(d.Tx, r.echo) {
		r.echo = d.Tx
	}
	r.mark(d.Mark | MarkAsk)
	switch {
	case r.flags&flagLeft != 0:
		r.kind, r.high = Away, d.Seq
	case r.kind == Ack && after(d.Seq, r.next):
		r.kind, r.high, r.deadline = Gap, d.Seq, 0
	case r.kind == Full || r.kind == Away:
		r.becomeFull(c, now, room)
	}
}

// OnRoom reports that the inbox can take room frames of this sender. The caller
// tells it to receivers that wait for it ([Receiver.Waits]).
func (r *Receiver) OnRoom(c *Config, now int64, room uint32) {
	switch {
	case r.flags&flagLeft != 0 || !c.Policy.Accepts(c, r, room):
	case r.kind == Full:
		r.kind, r.tries = Ready, 0
		r.flags |= flagDue
		r.deadline = now + int64(c.ReadyResend)
	case c.Policy.Owes(c, r):
		r.flags |= flagDue
	}
}

// Tick reports that now may be the deadline.
func (r *Receiver) Tick(c *Config, now int64) {
	if now < r.Deadline() {
		return
	}
	r.flags |= flagDue
	r.deadline = 0
	if r.kind != Ready {
		return
	}
	if r.tries++; r.tries < readyResends {
		r.deadline = now + backoff(int64(c.ReadyResend), NoDeadline-now, r.tries)
	}
}

// Due reports whether an answer must be sent now, in a frame of its own if no data frame to this
// peer leaves.
func (r *Receiver) Due() bool { return r.flags&flagDue != 0 }

// Answer returns the answer that stands now, for a frame of its own or the back
// of a data frame, and counts it as sent. room is as in OnData.
func (r *Receiver) Answer(c *Config, room uint32) Answer {
	r.flags &^= flagDue
	r.owed = 0
	if r.kind != Ready {
		r.deadline = 0
	}
	if r.kind == Full || r.kind == Away {
		room = 0
	}
	return Answer{Kind: r.kind, Room: c.Policy.Room(c, r, room), Next: r.next, Echo: r.echo}
}

// Fail reports that the sender is gone: what it was promised goes back to the pool.
func (r *Receiver) Fail() { r.flags |= flagGone }

// Flush makes an answer that waits for company due now, so that the sender need
// not ask for it while it flushes.
func (r *Receiver) Flush() {
	if r.owed != 0 {
		r.flags |= flagDue
	}
}

// Suspend reports that the context is leaving its channel: all frames are refused
// (Away), and timers stand still.
func (r *Receiver) Suspend(now int64) {
	if r.flags&flagLeft != 0 {
		return
	}
	r.flags |= flagLeft
	if r.deadline != 0 {
		r.deadline = max(r.deadline-now, 1)
	}
}

// Resume ends Suspend. It sends Ready to senders that were refused meanwhile.
func (r *Receiver) Resume(c *Config, now int64, room uint32) {
	if r.flags&flagLeft == 0 {
		return
	}
	r.flags &^= flagLeft
	if r.deadline != 0 {
		r.deadline += now
	}
	if r.kind == Away {
		r.becomeFull(c, now, room)
	}
}

// becomeFull turns a refusal, whatever its reason, into one for want of room, and ends it if there
// is room.
func (r *Receiver) becomeFull(c *Config, now int64, room uint32) {
	r.kind = Full
	if after(r.next, r.high) {
		r.high = r.next // what was refused while away may have been duplicates
	}
	r.OnRoom(c, now, room)
}

// mark notes what a frame requests.
func (r *Receiver) mark(m Mark) {
	if m&MarkAsk != 0 {
		r.flags |= flagDue
	}
	if m&MarkWant != 0 {
		r.flags |= flagWanted
	}
}

// countOwed counts a frame that wants an answer, now or soon.
func (r *Receiver) countOwed(c *Config, now int64) {
	r.owed++
	if r.owed >= c.AckEvery || r.owed == 0 {
		r.flags |= flagDue
	}
	if r.deadline == 0 {
		r.deadline = now + int64(c.AckDelay)
	}
}

// again reports whether a refused frame opens a new round: it is a later transmission
// than all before, and yet not a later frame, so that its sender went back.
func (r *Receiver) again(seq Seq, newer bool) bool { return newer && after(r.high, seq) }

// refuse notes a refusal and has it sent: once per round and reason.
func (r *Receiver) refuse(why Kind, seq Seq, newer bool) {
	if why != r.kind || r.again(seq, newer) {
		r.flags |= flagDue
		r.deadline = 0
		r.kind, r.high = why, seq+1
		return
	}
	if after(seq+1, r.high) {
		r.high = seq + 1
	}
}
