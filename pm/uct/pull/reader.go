package pull

import "slices"

// NoDeadline is the deadline of a reader that waits for nothing.
const NoDeadline = 1<<63 - 1

// Reader asks for the bytes of all transfers of one reader. Times are nanoseconds of any clock that
// does not go back.
//
//	out <= window, unless one piece alone is longer
//	cutAt <= asked
type Reader struct {
	c       Config
	window  int
	grown   int     // bytes that came whole since the window grew
	asked   uint64  // pieces so far
	cutAt   uint64  // the last piece that was asked for before the window was cut
	out     int     // bytes of counted pieces that have not come
	probes  int     // pieces whose probe is due
	waiting []*Pull // may have something to ask for, in order
	active  []*Pull // have pieces
	spare   []*Pull
	srtt    int64 // from a question to the first frame, smoothed; 0: not measured
	rttvar  int64
	due     int64 // no piece is due earlier
}

// New makes a reader.
func New(c Config) *Reader { return &Reader{c: c, window: c.Window, due: NoDeadline} }

// Start begins a transfer of length bytes, at least one. id is the caller's.
func (r *Reader) Start(id uint32, length uint64) *Pull {
	var p *Pull
	if n := len(r.spare); n > 0 {
		p = r.spare[n-1]
		r.spare = r.spare[:n-1]
	} else {
		p = &Pull{}
	}
	*p = Pull{ID: id, length: length, left: length, again: p.again[:0], pieces: p.pieces[:0]}
	r.wait(p)
	return p
}

// Recycle takes back a settled pull, which the caller must not use any more.
func (r *Reader) Recycle(p *Pull) {
	r.Stop(p)
	for i := range p.pieces {
		r.trust(&p.pieces[i])
	}
	p.pieces = p.pieces[:0]
	r.drop(p)
	r.spare = append(r.spare, p)
}

// Stop ends a pull: nothing is asked for and no frame expected any more. The caller still probes
// pieces that their owner may not have sent, and calls Sent for them, until the pull is settled.
func (r *Reader) Stop(p *Pull) {
	p.stopped = true
	for i := range p.pieces {
		r.uncount(&p.pieces[i])
		r.doubt(&p.pieces[i])
	}
	p.pieces = slices.DeleteFunc(p.pieces, func(c piece) bool { return c.sent })
	r.drop(p)
	if p.waiting {
		p.waiting = false
		r.waiting = slices.DeleteFunc(r.waiting, func(q *Pull) bool { return q == p })
	}
}

func (r *Reader) wait(p *Pull) {
	if !p.waiting && p.wants() {
		p.waiting = true
		r.waiting = append(r.waiting, p)
	}
}

// drop takes a pull without pieces out of the list.
func (r *Reader) drop(p *Pull) {
	if p.active && len(p.pieces) == 0 {
		p.active = false
		r.active = slices.DeleteFunc(r.active, func(q *Pull) bool { return q == p })
	}
}

// Next returns what to ask for now. The caller reports the question by Asked, or the next call
// returns the same again.
func (r *Reader) Next() (p *Pull, at, n uint64, ok bool) {
	if len(r.waiting) == 0 {
		return nil, 0, 0, false
	}
	p = r.waiting[0]
	from, to := p.next, p.length
	if len(p.again) > 0 {
		from, to = p.again[0].from, p.again[0].to
	}
	n = min(to-from, uint64(r.c.Piece))
	if r.out > 0 && r.out+int(n) > r.window {
		return nil, 0, 0, false
	}
	return p, from, n, true
}

// Asked records that what Next returned was asked for.
func (r *Reader) Asked(now int64) {
	p, at, n, ok := r.Next()
	if !ok {
		return
	}
	if len(p.again) > 0 {
		if p.again[0].from += n; p.again[0].from == p.again[0].to {
			p.again = slices.Delete(p.again, 0, 1)
		}
	} else {
		p.next += n
	}
	r.asked++
	p.pieces = append(p.pieces, piece{span: span{at, at + n}, number: r.asked, left: n, since: now, counted: true})
	r.out += int(n)
	r.due = min(r.due, now+int64(r.c.Stall))
	if !p.active {
		p.active = true
		r.active = append(r.active, p)
	}
	if !p.wants() {
		p.waiting = false
		r.waiting = r.waiting[:copy(r.waiting, r.waiting[1:])]
	}
}

// Probe returns a piece whose owner is to be asked whether it has sent it. The caller reports the
// question by Probed, or the next call returns the same again.
func (r *Reader) Probe() (p *Pull, at, n uint64, ok bool) {
	p, c := r.doubtful()
	if c == nil {
		return nil, 0, 0, false
	}
	return p, c.from, c.to - c.from, true
}

// Probed records that the owner was asked about what Probe returned.
func (r *Reader) Probed() {
	if _, c := r.doubtful(); c != nil {
		r.trust(c)
	}
}

// doubtful returns a piece whose probe is due, and its pull.
func (r *Reader) doubtful() (*Pull, *piece) {
	if r.probes == 0 {
		return nil, nil
	}
	for _, p := range r.active {
		for i := range p.pieces {
			if c := &p.pieces[i]; c.probe == probeDue {
				return p, c
			}
		}
	}
	return nil, nil
}

// doubt has the owner probed once, unless the piece is known to be sent.
func (r *Reader) doubt(c *piece) {
	if c.probe == noProbe && !c.sent {
		c.probe = probeDue
		r.probes++
	}
}

// trust ends a doubt: the owner was probed, or need not be.
func (r *Reader) trust(c *piece) {
	if c.probe == probeDue {
		r.probes--
	}
	c.probe = probeSent
}

// Took records a frame that the pull expects. Owners send frames in order, so a piece was sent if
// its last bytes have come.
func (r *Reader) Took(now int64, p *Pull, at, n uint64) {
	c := p.covering(at, n)
	if c == nil {
		return
	}
	if !c.started && c.counted && !c.sent {
		r.measure(now - c.since)
	}
	c.take(at, at+n)
	c.since = now
	p.left -= n
	if c.counted {
		r.out -= int(n)
	}
	switch {
	case c.left == 0:
		if c.number > r.cutAt {
			r.grow(int(c.to - c.from))
		}
		r.over(p, c)
	case at+n == c.to:
		r.confirm(now, c)
	default:
		r.due = min(r.due, now+r.grace())
	}
}

// confirm notes that a piece was sent. What is missing may still come for a moment.
func (r *Reader) confirm(now int64, c *piece) {
	if c.sent {
		return
	}
	r.trust(c)
	c.sent, c.due = true, now+r.grace()
	r.due = min(r.due, c.due)
}

// over removes a piece.
func (r *Reader) over(p *Pull, c *piece) {
	r.uncount(c)
	r.trust(c)
	for i := range p.pieces {
		if &p.pieces[i] == c {
			p.pieces = p.pieces[:i+copy(p.pieces[i:], p.pieces[i+1:])]
			break
		}
	}
	r.drop(p)
	r.wait(p)
}

func (r *Reader) uncount(c *piece) {
	if c.counted {
		c.counted = false
		r.out -= int(c.left)
	}
}

// Sent records that the owner has sent all frames of a piece: it was probed, or cannot send them.
// The piece may be over, since the answer to a probe crosses frames.
func (r *Reader) Sent(now int64, p *Pull, at, n uint64) {
	for i := range p.pieces {
		c := &p.pieces[i]
		if c.from != at || c.to-c.from != n {
			continue
		}
		if r.confirm(now, c); p.stopped {
			r.over(p, c)
		}
		return
	}
}

// Deadline returns when Tick must be called.
func (r *Reader) Deadline() int64 { return r.due }

// Tick declares overdue frames lost, and takes pieces of silent owners out of the window. Call it
// only after all frames that are there were taken.
func (r *Reader) Tick(now int64) {
	if now < r.due {
		return
	}
	r.due = NoDeadline
	for i := len(r.active) - 1; i >= 0; i-- {
		r.tickPull(now, r.active[i])
	}
}

func (r *Reader) tickPull(now int64, p *Pull) {
	for i := len(p.pieces) - 1; i >= 0; i-- {
		c := &p.pieces[i]
		switch {
		case c.sent && now >= c.due:
			p.again = c.holes(p.again)
			r.lost(c)
			r.over(p, c)
		case c.sent:
			r.due = min(r.due, c.due)
		default:
			r.tickUnsent(now, c)
		}
	}
}

// tickUnsent looks after a piece that its owner may not have sent.
func (r *Reader) tickUnsent(now int64, c *piece) {
	quiet, stall := int64(r.c.Stall), int64(r.c.Stall)
	if c.started {
		quiet = r.grace()
	}
	if now-c.since >= quiet {
		r.doubt(c)
	}
	if now-c.since >= stall {
		r.uncount(c)
	}
	if c.probe == noProbe {
		r.due = min(r.due, c.since+quiet)
	}
	if c.counted {
		r.due = min(r.due, c.since+stall)
	}
}

// grace returns how long frames may still come after others of their piece, or after their owner
// has said that it sent it.
func (r *Reader) grace() int64 {
	return min(max(r.srtt+4*r.rttvar, int64(r.c.Grace)), int64(r.c.MaxGrace))
}

// measure takes the time from a question to its first frame into the estimate, as RFC 6298 does.
func (r *Reader) measure(ns int64) {
	ns = min(max(ns, 1), int64(r.c.MaxGrace))
	if r.srtt == 0 {
		r.srtt, r.rttvar = ns, ns/2
		return
	}
	r.rttvar += (max(ns-r.srtt, r.srtt-ns) - r.rttvar) / 4
	r.srtt += (ns - r.srtt) / 8
}

func (r *Reader) grow(n int) {
	if r.grown += n; r.grown >= r.window {
		r.grown = 0
		r.window = min(r.window+r.window/growth, r.c.Window)
	}
}

// lost takes note of a loss in a piece. Losses in pieces that were asked for before the last cut do
// not cut the window again: they report the same state of the network.
func (r *Reader) lost(c *piece) {
	if c.number <= r.cutAt {
		return
	}
	r.cutAt, r.grown = r.asked, 0
	r.window = max(r.window-r.window/lossCut, r.c.MinWindow)
}
