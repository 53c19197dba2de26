package pull

// span is bytes from one place to another.
type span struct{ from, to uint64 }

// piece is what an owner was asked for. It is over when all has come, or was given up because its
// owner has sent it.
type piece struct {
	span
	number  uint64         // of those that were asked for, from 1 on
	got     [maxSpans]span // what came, in order, with holes between
	spans   int
	left    uint64 // bytes that have not come
	since   int64  // when it was asked for, or its last frame came
	due     int64  // when what is missing is given up; of a piece that was sent
	sent    bool   // its last frame came, or the owner said so
	counted bool   // left is part of Reader.out
	started bool   // a frame came
	probe   probe
}

// probe is the question to an owner whether it has sent a piece. It is asked once.
type probe uint8

const (
	noProbe probe = iota
	probeDue
	probeSent
)

// Pull is one transfer.
//
//	length = bytes that came + in pieces, not come + again + never asked for
type Pull struct {
	ID      uint32 // the caller's
	length  uint64
	next    uint64 // what follows was never asked for
	left    uint64 // bytes that have not come
	again   []span // to be asked for once more
	pieces  []piece
	waiting bool // in Reader.waiting
	active  bool // in Reader.active
	stopped bool // nothing is asked for any more
}

// Done reports whether all bytes have come.
func (p *Pull) Done() bool { return p.left == 0 }

// Settled reports whether the owner owes nothing: all has come, or it has said of each piece of a
// stopped pull that it was sent.
func (p *Pull) Settled() bool { return len(p.pieces) == 0 && (p.stopped || p.left == 0) }

// Expects reports whether n bytes from at on are part of what was asked for and has not come.
func (p *Pull) Expects(at, n uint64) bool {
	c := p.covering(at, n)
	return c != nil && !p.stopped && c.free(at, at+n)
}

// covering is the piece that has all of the bytes, or nil.
func (p *Pull) covering(at, n uint64) *piece {
	for i := range p.pieces {
		if c := &p.pieces[i]; n > 0 && at >= c.from && at < c.to && n <= c.to-at {
			return c
		}
	}
	return nil
}

// free reports whether none of the bytes has come, and there is a place to note them.
func (c *piece) free(from, to uint64) bool {
	for i := range c.spans {
		if from < c.got[i].to && to > c.got[i].from {
			return false
		}
	}
	return c.spans < maxSpans || c.joins(from, to)
}

// joins reports whether the bytes are beside some that came.
func (c *piece) joins(from, to uint64) bool {
	for i := range c.spans {
		if c.got[i].to == from || c.got[i].from == to {
			return true
		}
	}
	return false
}

// take records bytes that came. None of them was there before.
func (c *piece) take(from, to uint64) {
	c.left -= to - from
	c.started = true
	i := 0
	for i < c.spans && c.got[i].to < from {
		i++
	}
	if i == c.spans || to < c.got[i].from {
		copy(c.got[i+1:c.spans+1], c.got[i:c.spans])
		c.got[i] = span{from, to}
		c.spans++
		return
	}
	c.got[i] = span{min(from, c.got[i].from), max(to, c.got[i].to)}
	if i+1 < c.spans && c.got[i].to == c.got[i+1].from {
		c.got[i].to = c.got[i+1].to
		copy(c.got[i+1:], c.got[i+2:c.spans])
		c.spans--
	}
}

// holes appends what has not come.
func (c *piece) holes(to []span) []span {
	at := c.from
	for _, s := range c.got[:c.spans] {
		if at < s.from {
			to = append(to, span{at, s.from})
		}
		at = s.to
	}
	if at < c.to {
		to = append(to, span{at, c.to})
	}
	return to
}

// wants reports whether there is something to ask for.
func (p *Pull) wants() bool {
	return !p.stopped && len(p.pieces) < MaxPieces && (len(p.again) > 0 || p.next < p.length)
}
