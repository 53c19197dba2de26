package flowctl

import "fmt"

// Credits is the policy of dynamic credits (GLEX): a frame costs a credit, which
// stands for a place in the inbox, so that no frame is refused. Each sender owns
// Initial credits from the start; the rest of the inbox is the pool, from which
// senders that request it get Chunk more. A place that is read falls back to its
// sender up to Initial, else to the pool, so that pairs that talk often own more.
//
// The inbox must have Initial places for each sender. They stay reserved for it,
// so that no sender starves because others, having fallen silent, keep what they
// once requested: that is Chunk at most.
//
// The pool needs no state of its own: it is the free places less what is reserved
// ([Config.RoomFor]).
type Credits struct {
	Initial uint16 // credits of a sender from the start, 1 or more
	Chunk   uint16 // credits granted more upon request
}

var _ Policy = Credits{}

// Check returns an error if the numbers cannot work.
func (p Credits) Check() error {
	if p.Initial == 0 {
		return fmt.Errorf("%w: a sender begins with 0 credits, must be 1 or more", ErrConfig)
	}
	return nil
}

// MaySend allows what there are credits for, within the window that bounds what
// is in flight.
func (p Credits) MaySend(c *Config, s *Sender) uint32 {
	flight := s.Unacked()
	w := s.frames(c)
	if flight >= w {
		return 0
	}
	return min(w-flight, p.left(s))
}

// Wants reports whether half of the initial credits are spent and not returned.
func (p Credits) Wants(_ *Config, s *Sender) bool {
	return p.left(s) <= uint32(p.Initial)/2
}

// Learn takes credits that came; credits given are never taken back.
func (p Credits) Learn(_ *Config, s *Sender, limit Seq) {
	if gave := limit - Seq(p.Initial); after(gave, s.limit) {
		s.limit = gave
	}
}

// Accepts whatever there is room for; what was promised has room.
func (Credits) Accepts(_ *Config, _ *Receiver, room uint32) bool { return room > 0 }

// Room gives what the sender is due, as far as there is room, and tells its sum.
func (p Credits) Room(c *Config, r *Receiver, room uint32) uint16 {
	if spent := r.next - Seq(p.Initial); after(spent, r.gave) {
		r.gave = spent // a frame came without credit, and there was room for it
	}
	promised := p.Promised(c, r)
	due := uint32(p.Initial)
	if r.flags&flagWanted != 0 {
		due += uint32(p.Chunk)
	}
	if due = min(due, room); promised < due {
		r.gave += Seq(due - promised)
		promised = due
	}
	if promised > 0 {
		r.flags &^= flagWanted
	}
	return uint16(min(promised, windowAll))
}

// Owes is true of a sender that has none left, or requested more and got none.
func (p Credits) Owes(c *Config, r *Receiver) bool {
	if r.flags&flagGone != 0 {
		return false
	}
	return r.flags&flagWanted != 0 || p.Promised(c, r) == 0
}

// Reserved returns the credits that are given and not used, Initial at least.
func (p Credits) Reserved(c *Config, r *Receiver) uint32 {
	if r.flags&flagGone != 0 {
		return 0
	}
	return max(p.Promised(c, r), uint32(p.Initial))
}

// Promised returns the credits that are given and not used.
func (p Credits) Promised(_ *Config, r *Receiver) uint32 {
	if r.flags&flagGone != 0 {
		return 0
	}
	return uint32(max(int32(r.gave+Seq(p.Initial)-r.next), 0))
}

// left returns the sender's credits.
func (p Credits) left(s *Sender) uint32 {
	return uint32(max(int32(s.limit+Seq(p.Initial)-s.nxt), 0))
}
