package tag

import "score/pm/uct"

const (
	// shortBeyond is the length of the longest message that always goes beyond the window with its
	// bytes: it costs the receiver little more than an offer, and no pull.
	shortBeyond = 256
	// maxBeyond is the length of the longest message that may go beyond the window with its bytes:
	// those longer than shortBeyond have at most maxBeyondBytes in all. So sends that wait for
	// their end, one after the other, wait for no pull.
	maxBeyond      = 4 << 10
	maxBeyondBytes = 32 << 10
)

// goesBeyond reports whether a message for which the window is too narrow goes with its bytes.
func (p *peer) goesBeyond(length int) bool {
	return length <= shortBeyond || length <= maxBeyond && p.beyondSent+length <= maxBeyondBytes
}

// beyondCost returns how much of maxBeyondBytes a message beyond the window takes.
func beyondCost(length int) int {
	if length <= shortBeyond {
		return 0
	}
	return length
}

// sendBeyond sends a short message beyond the window, with its bytes. Like an offer it waits for
// its receiver's answer, but the receiver has nothing to pull.
func (o *Op) sendBeyond(v envelope) error {
	p, s := o.to, o.ep.stack
	o.id = s.sends.Add(o)
	v = v.numbered(o.id)
	limit := p.window.limit()
	h := uct.Header{ID: idEager, Ports: uct.Ports{To: o.peer.Port, From: o.ep.port}, Bits: v.bits() | bitWant, Arg: limit}
	if err := p.sendWithHead(h, v, o.buf); err != nil {
		s.sends.Remove(o.id)
		if err != uct.ErrAgain { //nolint:errorlint // this very value
			o.finish(err)
		}
		return err
	}
	p.window.announced = limit
	s.counts.Beyond++
	o.beyond = beyondCost(len(o.buf))
	p.beyondSent += o.beyond
	o.state = untaken
	s.untaken++
	return nil
}
