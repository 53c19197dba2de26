package uct

// copies records whether a peer on this node can copy from and to this process. The system may
// allow that to one of the two processes only, as where one is privileged, so the peer reports it.
type copies uint8

const (
	copiesUnknown copies = iota
	copiesAsked
	copiesYes
	copiesNo
)

// peerCopies reports whether the peer can copy; false until it has answered.
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
		e.Violated()
	}
}

func (e *EP) replyCopies() {
	if e.serves >= maxAsked {
		return // it asks too often
	}
	answer := copiesNo
	if e.canCopy() {
		answer = copiesYes
	}
	if a := e.newReply(replyCopies, 0); a != nil {
		a.copies = answer
		e.reply(a)
	}
}
