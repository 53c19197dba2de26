package uct

// copies is what is known of whether a peer of this node copies from and to this process. The
// system may allow it to one of two processes alone, as where one of them is privileged, so the one
// that copies says so.
type copies uint8

const (
	copiesUnknown copies = iota
	copiesAsked
	copiesYes
	copiesNo
)

// peerCopies reports whether the peer may be asked to copy. Until it has answered it is not.
func (e *EP) peerCopies() bool {
	if e.copies == copiesUnknown && e.local && e.send(Header{ID: idCopies}, nil) == nil {
		e.copies = copiesAsked
	}
	return e.copies == copiesYes
}

// onCopies answers, or takes the answer to a question.
func onCopies(p *Packet) {
	e := p.EP
	switch what := copies(p.Bits); {
	case what == copiesUnknown:
		e.replyCopies()
	case e.copies == copiesAsked && (what == copiesYes || what == copiesNo):
		e.copies = what
	default:
		e.violated()
	}
}

func (e *EP) replyCopies() {
	if e.serves >= maxAsked {
		return // it asks all the time: it is not answered
	}
	answer := copiesNo
	if e.canCopy() {
		answer = copiesYes
	}
	if o := e.newReply(replyCopies, 0); o != nil {
		o.extra = uint64(answer)
		e.answer(o)
	}
}
