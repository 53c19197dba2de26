package flowctl

import "time"

// Acked returns the oldest frame that is not acknowledged: the buffers of all
// frames before it are free.
func (s *Sender) Acked() Seq { return s.una }

// End returns one past the newest queued frame: the number of the next.
func (s *Sender) End() Seq { return s.end }

// Unsent returns how many frames wait to be sent, or sent again.
func (s *Sender) Unsent() uint32 { return distance(s.nxt, s.end) }

// Unacked returns how many frames are sent and neither acknowledged nor known to
// be refused or lost.
func (s *Sender) Unacked() uint32 { return distance(s.una, s.nxt) }

// Flushed reports whether the newest transmission has been answered, and nothing of
// this sender is in flight: what was sent has arrived or is lost, on a network
// that keeps order. One that does not may still hold frames that were overtaken;
// they are recognised by their numbers whenever they come.
func (s *Sender) Flushed() bool { return s.tx == s.echo }

// Flushing reports whether Flush began and Resume has not ended it.
func (s *Sender) Flushing() bool { return s.flags&flagFlushing != 0 }

// Failed reports whether the peer is gone.
func (s *Sender) Failed() bool { return s.flags&flagFailed != 0 }

// Closed reports whether a sender failed because the peer closed its end.
func (s *Sender) Closed() bool { return s.flags&flagClosed != 0 }

// Mismatched reports whether a sender failed because the peer uses another policy.
func (s *Sender) Mismatched() bool { return s.Failed() && s.cause == causePolicy }

// Held says why nothing is sent.
func (s *Sender) Held() Hold { return s.hold }

// Deadline returns when the sender wants a tick.
func (s *Sender) Deadline() int64 {
	if s.deadline == 0 || s.flags&(flagSuspended|flagFailed) != 0 {
		return NoDeadline
	}
	return s.deadline
}

// Sendable reports whether Send would return something.
func (s *Sender) Sendable(c *Config) bool {
	if s.flags&(flagSuspended|flagFailed) != 0 {
		return false
	}
	if s.flags&flagAskDue != 0 {
		return true
	}
	return s.end != s.nxt && s.hold == Open && s.flags&flagFlushing == 0 &&
		(s.una == s.nxt || c.Policy.MaySend(c, s) > 0)
}

// Deadline returns when the receiver wants a tick.
func (r *Receiver) Deadline() int64 {
	if r.deadline == 0 || r.flags&flagLeft != 0 {
		return NoDeadline
	}
	return r.deadline
}

// Next returns the frame that is accepted next.
func (r *Receiver) Next() Seq { return r.next }

// Refusing says what the receiver's answers say: Ack if it refuses nothing.
func (r *Receiver) Refusing() Kind { return r.kind }

// Waits reports whether OnRoom should be called when there is room.
func (r *Receiver) Waits(c *Config) bool { return r.kind == Full || c.Policy.Owes(c, r) }

// SenderStatus describes a sender to users.
type SenderStatus struct {
	Acked, Next, Queued Seq // frames: acknowledged before, sent next, queued before
	Sent, Answered      Tx  // transmissions: newest, newest answered
	Window              uint16
	Hold                Hold
	Failed, Suspended   bool
	RoundTrip           time.Duration
}

// Status returns a copy of the state for people.
func (s *Sender) Status() SenderStatus {
	return SenderStatus{
		Acked: s.una, Next: s.nxt, Queued: s.end,
		Sent: s.tx, Answered: s.echo,
		Window: s.window, Hold: s.hold,
		Failed: s.Failed(), Suspended: s.flags&flagSuspended != 0,
		RoundTrip: time.Duration(s.srtt),
	}
}

// ReceiverStatus describes a receiver to users.
type ReceiverStatus struct {
	Next Seq  // frame that is accepted next
	Echo Tx   // newest transmission seen
	Kind Kind // what its answers say
	Away bool // not resident
}

// Status returns a copy of the state for people.
func (r *Receiver) Status() ReceiverStatus {
	return ReceiverStatus{Next: r.next, Echo: r.echo, Kind: r.kind, Away: r.flags&flagLeft != 0}
}

// String names the kind.
func (k Kind) String() string {
	names := [...]string{Ack: "ack", Full: "full", Gap: "gap", Away: "away", Ready: "ready"}
	if int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// String names the hold.
func (h Hold) String() string {
	names := [...]string{Open: "open", HeldFull: "held (full)", HeldAway: "held (away)", HeldDry: "held (dry)"}
	if int(h) >= len(names) {
		return "unknown"
	}
	return names[h]
}

// String names the verdict.
func (v Verdict) String() string {
	names := [...]string{Accept: "accept", Duplicate: "duplicate", Refuse: "refuse"}
	if int(v) >= len(names) {
		return "unknown"
	}
	return names[v]
}
