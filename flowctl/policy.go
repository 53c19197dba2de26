package flowctl

// Policy decides how much a sender may have under way. Order, recovery and
// flushing are the machines' own and the same under all policies. Both sides of
// a channel use the same one. A policy has no state but what it keeps in the
// fields of Sender and Receiver that are its own.
type Policy interface {
	// MaySend returns how many more frames s may send now.
	MaySend(c *Config, s *Sender) uint32
	// Wants reports whether the newest transmission is to request credits.
	Wants(c *Config, s *Sender) bool
	// Learn tells the sender that the receiver has room before frame limit.
	Learn(c *Config, s *Sender, limit Seq)

	// Accepts reports whether the next frame in order is accepted when the inbox has room for that
	// number of frames of this sender.
	Accepts(c *Config, r *Receiver, room uint32) bool
	// Room returns what an answer tells as room.
	Room(c *Config, r *Receiver, room uint32) uint16
	// Owes reports whether the sender waits for an announcement of room although it was not
	// refused.
	Owes(c *Config, r *Receiver) bool
	// Promised returns how many frames the sender may still send by what was announced to it: there
	// is a place in the inbox for each.
	Promised(c *Config, r *Receiver) uint32
	// Reserved returns how many places of the inbox others may not be promised.
	Reserved(c *Config, r *Receiver) uint32
}

// RoomFor returns how many frames an inbox with the given free places can take from r's sender.
// reserved is the sum of [Policy.Reserved] over all senders. It is what the calls of Receiver take
// as room. Answer and OnData change what is reserved, so that a caller takes the difference into
// its sum.
func (c *Config) RoomFor(r *Receiver, free, reserved uint32) uint32 {
	room := c.Policy.Promised(c, r)
	if others := reserved - c.Policy.Reserved(c, r); free > others {
		room = max(room, free-others)
	}
	return min(room, free)
}

// AckNack is the policy of PM: nothing is reserved, a sender sends what its window allows and is
// refused if there is no room. The room in answers is a hint that keeps a sender from running into
// refusals it could foresee.
type AckNack struct{}

var _ Policy = AckNack{}

// MaySend allows the window, less what is in flight, and no more than the announced room; but one
// frame always, since room may have come without an announcement.
func (AckNack) MaySend(c *Config, s *Sender) uint32 {
	w := s.frames(c)
	if s.flags&flagHinted != 0 {
		w = min(w, uint32(max(int32(s.limit-s.una), 1)))
	}
	flight := s.Unacked()
	if flight >= w {
		return 0
	}
	return w - flight
}

// Wants is false: there are no credits.
func (AckNack) Wants(*Config, *Sender) bool { return false }

// Learn takes the newest hint.
func (AckNack) Learn(_ *Config, s *Sender, limit Seq) {
	s.limit = limit
	s.flags |= flagHinted
}

// Accepts whatever there is room for.
func (AckNack) Accepts(_ *Config, _ *Receiver, room uint32) bool { return room > 0 }

// Room tells the room.
func (AckNack) Room(_ *Config, _ *Receiver, room uint32) uint16 {
	return uint16(min(room, windowAll))
}

// Owes is false: a sender that waits was refused.
func (AckNack) Owes(*Config, *Receiver) bool { return false }

// Promised is 0.
func (AckNack) Promised(*Config, *Receiver) uint32 { return 0 }

// Reserved is 0.
func (AckNack) Reserved(*Config, *Receiver) uint32 { return 0 }
