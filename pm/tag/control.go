package tag

import "score/pm/uct"

// control is a short message that waits for resources.
type control struct {
	stack *Stack
	peer  *peer
	what  controlKind
	arg   uint32
	bits  uint8
	next  *control
}

type controlKind uint8

const (
	controlWindow controlKind = iota
	controlTaken
)

func (s *Stack) control(p *peer, what controlKind, arg uint32, bits uint8) {
	c := s.spareControls
	if c == nil {
		c = &control{stack: s}
	} else {
		s.spareControls = c.next
	}
	c.peer, c.what, c.arg, c.bits = p, what, arg, bits
	p.ep.Pend(c)
}

// Retry sends it.
func (c *control) Retry() error {
	s, p := c.stack, c.peer
	var err error
	switch c.what {
	case controlWindow:
		err = s.sendWindow(p)
		p.saying = err == uct.ErrAgain //nolint:errorlint // this very value
	case controlTaken:
		err = p.ep.Send(uct.Header{ID: idTaken, Bits: c.bits, Arg: c.arg}, nil)
	}
	if err != uct.ErrAgain { //nolint:errorlint // this very value
		*c = control{stack: s, next: s.spareControls}
		s.spareControls = c
	}
	return err
}
