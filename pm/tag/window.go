package tag

import "score/pm/uct"

// Unit is the unit of a window, in bytes.
const Unit = 64

const (
	// minWindow is what each peer may send eagerly whatever the number of peers: two full messages
	// of the shortest kind that is worth a copy.
	minWindow = 16 << 10 / Unit
	// maxWindow bounds the window of one peer: more does not make a stream faster.
	maxWindow = 1 << 20 / Unit
	// envelopeUnits is what a message costs beside its bytes: what is kept of it.
	envelopeUnits = 2
)

// unitsOf returns the cost of a message of the length.
func unitsOf(length int) uint32 { return uint32(uint(length+Unit-1)/Unit) + envelopeUnits }

// credit is the sender's side of a window: it may have sent limit units in all.
type credit struct {
	used  uint32 // units sent ever, modulo 2^32
	limit uint32
}

// take spends units, if the window has them.
func (c *credit) take(units uint32) bool {
	if int32(c.limit-c.used-units) < 0 {
		return false
	}
	c.used += units
	return true
}

// onLimit records the receiver's limit. An older limit changes nothing.
func (c *credit) onLimit(limit uint32) {
	if int32(limit-c.limit) > 0 {
		c.limit = limit
	}
}

// window is the receiver's side: of the units that came, those given back may come once more.
//
//	arrived - freed <= size        units kept for the peer
//	limit = freed + size           what the peer may send in all
type window struct {
	arrived   uint32
	freed     uint32
	size      uint32
	announced uint32 // the limit that the peer knows
}

func (w *window) limit() uint32 { return w.freed + w.size }

// onArrival counts a message. It is false if the peer exceeded its window.
func (w *window) onArrival(units uint32) bool {
	w.arrived += units
	return int32(w.limit()-w.arrived) >= 0
}

// free counts a message whose bytes are not kept any more.
func (w *window) free(units uint32) { w.freed += units }

// due reports whether the limit should be sent without waiting for a message of the other way: half
// of the window came free since the last one.
func (w *window) due() bool { return w.limit()-w.announced > w.size/2 }

// pool is what windows may grow by.
type pool struct{ left uint32 }

// widen doubles a window as far as the pool allows, and reports whether it did.
func (p *pool) widen(w *window) bool {
	more := min(w.size, maxWindow-w.size, p.left)
	if more == 0 {
		return false
	}
	p.left -= more
	w.size += more
	return true
}

// narrow gives back what a window has beyond the least, when its peer is gone.
func (p *pool) narrow(w *window) {
	p.left += w.size - min(w.size, minWindow)
	w.size = min(w.size, minWindow)
}

// freed records that bytes of a peer are not kept any more, and updates its window when it is time.
func (s *Stack) freed(p *peer, units uint32) {
	p.window.free(units)
	if p.gone || p.window.due() {
		s.onFreed(p, units)
	}
}

// onFreed reports a wide window to its peer, or gives the window of a lost peer back. If one
// message is half of a window, each would be answered by a message with the limit, which the
// program's own answer could carry: so the window is doubled.
func (s *Stack) onFreed(p *peer, units uint32) {
	if p.gone {
		s.narrow(p)
		return
	}
	if units > p.window.size/2 {
		s.pool.widen(&p.window)
	}
	s.announceWindow(p)
}

// narrow returns a lost peer's window to the pool, but for the minimum, once nothing of the peer is
// kept any more: the bytes count until then.
func (s *Stack) narrow(p *peer) {
	if p.window.arrived == p.window.freed {
		s.pool.narrow(&p.window)
	}
}

// announceWindow sends the window to a peer, or queues that if there is no room now.
func (s *Stack) announceWindow(p *peer) {
	if p.saying || p.ep.Err() != nil {
		return
	}
	if s.sendWindow(p) == uct.ErrAgain { //nolint:errorlint // this very value
		p.saying = true
		s.control(p, controlWindow, 0, 0)
	}
}

func (s *Stack) sendWindow(p *peer) error {
	err := p.ep.Send(uct.Header{ID: idWindow, Arg: p.window.limit()}, nil)
	if err == nil {
		p.window.announced = p.window.limit()
	}
	return err
}

func (s *Stack) onWindow(p *uct.Packet) { s.from(p).credit.onLimit(p.Arg) }

// widen doubles the window of a peer to which it was too narrow, and says so.
func (s *Stack) widen(p *peer) {
	if s.pool.widen(&p.window) {
		s.announceWindow(p)
	}
}
