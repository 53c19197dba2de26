package sim

import (
	"score/pm/uct/order"
	"score/pm/uct/pull"
)

// messageKind is the kind of a transport's message.
type messageKind uint8

const (
	msgOffer messageKind = iota // send id: key, length, value
	msgTaken                    // send id has its bytes
	msgPut                      // request: at, n, value; the last piece has last
	msgFill                     // request: length, key of the bytes, value
	msgAdd                      // request
	msgGet                      // call id: length
	msgFetch                    // call id
	msgAsk                      // call id: key, length, at, n, token
	msgData                     // call id: at, n, bytes
	msgDone                     // call id has ended: refused, value
	msgProbe                    // call id: were at, n sent? token
	msgSent                     // call id: at, n were sent, or refused; token
	msgAck                      // requests up to upTo were served
	msgNak                      // requests of run failed
)

// transportMessage is the content of a transport's message.
type transportMessage struct {
	kind    messageKind
	id      uint32
	token   uint32
	key     uint64
	length  uint64
	at, n   uint64
	value   int64
	bytes   []memoryRun
	refused bool
	upTo    uint32
	run     order.Run
}

// sendMessage sends a message to a peer, if there is room.
func (t *transport) sendMessage(p *transportPeer, s transportMessage) bool {
	e, f := t.e, p.flow
	m := Message{Job: e.spec.Job, Channel: e.spec.Channel, From: e.spec.Rank, To: f.to, Index: f.next}
	if !e.ctx.Send(e.w.now, f.to, m.Payload()) {
		f.blocked = true
		return false
	}
	p.said = append(p.said, s)
	f.next++
	return true
}

// advance sends what goes: answers first, which wait for nothing but room.
func (t *transport) advance(p *transportPeer) {
	for len(p.replies) > 0 && t.reply(p, p.replies[0]) {
		p.replies = p.replies[1:]
	}
	for len(p.out) > 0 && p.barrier == nil && t.send(p, p.out[0]) {
		p.out = p.out[1:]
	}
	upTo, due := p.answers.Due()
	if (due || t.bugs.ackFirst && p.answers.Owes()) && t.sendMessage(p, transportMessage{kind: msgAck, upTo: upTo}) {
		p.answers.Acked(upTo)
	}
}

// send sends what goes of an operation, and reports whether that was all.
func (t *transport) send(p *transportPeer, o *operation) bool {
	switch o.kind {
	case opPut, opWrong, opFill, opAdd, opFetch:
		if p.reads > 0 && !t.bugs.noReads {
			return false // what it writes may still be read
		}
	default:
	}
	switch o.kind {
	case opPut, opWrong:
		return t.sendPut(p, o)
	case opSend:
		o.source = t.expose(o.length, o.value)
		p.sends = append(p.sends, o)
		if !t.sendMessage(p, transportMessage{kind: msgOffer, id: uint32(len(p.sends)), key: o.source, length: o.length, value: o.value}) {
			p.sends = p.sends[:len(p.sends)-1]
			t.conceal(o.source)
			return false
		}
		return true
	case opFill:
		o.source = t.expose(o.length, o.value)
		if !t.sendMessage(p, transportMessage{kind: msgFill, length: o.length, key: o.source, value: o.value}) {
			t.conceal(o.source)
			return false
		}
		if !t.bugs.noBarrier {
			p.barrier = o
		}
	case opAdd:
		if !t.sendMessage(p, transportMessage{kind: msgAdd}) {
			return false
		}
	default:
		return t.sendCall(p, o)
	}
	o.run.Add(p.asks.Send())
	p.unacked = append(p.unacked, o)
	return true
}

func (t *transport) sendPut(p *transportPeer, o *operation) bool {
	key := uint64(slotKey)
	if o.kind == opWrong {
		key = wrongKey
	}
	for range piecesInTurn {
		n := min(o.length-o.at, t.plan.maxPiece)
		if !t.sendMessage(p, transportMessage{kind: msgPut, key: key, at: o.at, n: n, value: o.value}) {
			return false
		}
		o.run.Add(p.asks.Send())
		if o.at += n; o.at == o.length {
			p.unacked = append(p.unacked, o)
			return true
		}
	}
	return false
}

// sendCall sends an operation that the peer answers with data.
func (t *transport) sendCall(p *transportPeer, o *operation) bool {
	c := t.newCall(p, o.length)
	c.op, c.want, c.key = o, o.want, slotKey
	switch o.kind {
	case opPull:
		t.startPull(c)
	case opFetch:
		if !t.sendMessage(p, transportMessage{kind: msgFetch, id: c.id}) {
			t.forget(c)
			return false
		}
		return true
	default:
		if !t.sendMessage(p, transportMessage{kind: msgGet, id: c.id, length: o.length}) {
			t.forget(c)
			return false
		}
	}
	if o.length > maxCopied || o.kind == opPull {
		o.reads = true
		p.reads++
	}
	return true
}

// maxCopied is the largest length at which the answer to a get is copied when the get is served.
const maxCopied = 1 << 10

// newCall takes a number.
func (t *transport) newCall(p *transportPeer, length uint64) *call {
	c := &call{peer: p, length: length, buffer: newMemory(length, nothing)}
	if n := len(t.free); n > 0 {
		c.id, t.free = t.free[n-1], t.free[:n-1]
		t.calls[c.id-1] = c
		return c
	}
	t.calls = append(t.calls, c)
	c.id = uint32(len(t.calls))
	return c
}

// forget gives the number back.
func (t *transport) forget(c *call) {
	if c.pull != nil {
		t.reader.Recycle(c.pull)
		c.pull = nil
	}
	t.calls[c.id-1] = nil
	t.free = append(t.free, c.id)
}

func (t *transport) startPull(c *call) {
	t.token++
	c.token, c.pull = t.token, t.reader.Start(c.id, c.length)
}

// reply sends what goes of an answer, and reports whether that was all.
func (t *transport) reply(p *transportPeer, r *answering) bool {
	switch {
	case r.what.kind == msgNak:
		if !t.sendMessage(p, transportMessage{kind: msgNak, run: r.run}) {
			return false
		}
		p.answers.Refused()
		return true
	case r.memory == nil:
		return t.sendMessage(p, r.what)
	}
	for i := 0; !r.piece.Done(); i++ {
		if (r.memory.closed || r.memory.turn != r.turn) && !t.bugs.keepsReading {
			r.what.refused = true // it was taken away
			break
		}
		if i == framesInTurn || !t.sendFrame(p, r) {
			return false
		}
	}
	return !r.what.refused || t.sendMessage(p, r.what)
}

// sendFrame sends the next frame of an answer, in a bulk datagram or through the channel.
func (t *transport) sendFrame(p *transportPeer, r *answering) bool {
	maxPiece := t.plan.maxPiece
	if r.bulk {
		maxPiece = t.plan.frame
	}
	at, n, _ := r.piece.Next(maxPiece)
	s := transportMessage{kind: msgData, id: r.what.id, token: r.what.token, at: at, n: n, bytes: r.memory.read(at, n)}
	if !r.bulk && !t.sendMessage(p, s) {
		return false
	}
	if r.bulk {
		if t.dice.chance(t.plan.busy) {
			return false
		}
		t.emit(p, s)
	}
	r.piece.Passed(n)
	return true
}

// ask gives up frames that did not come, probes owners, and asks for what pulls want now.
func (t *transport) ask() {
	w := t.e.w
	if w.now >= t.reader.Deadline() && len(t.socket) == 0 && !t.bugs.noRepeat {
		t.reader.Tick(w.now)
	}
	for p, at, n, ok := t.reader.Probe(); ok; p, at, n, ok = t.reader.Probe() {
		c := t.calls[p.ID-1]
		if !t.sendMessage(c.peer, transportMessage{kind: msgProbe, id: c.id, at: at, n: n, token: c.token}) {
			return
		}
		t.reader.Probed()
	}
	for {
		p, at, n, ok := t.reader.Next()
		if !ok {
			return
		}
		c := t.calls[p.ID-1]
		s := transportMessage{kind: msgAsk, id: c.id, key: c.key, length: c.length, at: at, n: n, token: c.token}
		if !t.sendMessage(c.peer, s) {
			return
		}
		t.reader.Asked(w.now)
	}
}

// answerProbe says that a piece was sent: what was asked for before is answered before.
func (t *transport) answerProbe(p *transportPeer, s *transportMessage) {
	p.replies = append(p.replies, &answering{what: transportMessage{kind: msgSent, id: s.id, token: s.token, at: s.at, n: s.n}})
}

// answerAsk begins to send a piece.
func (t *transport) answerAsk(p *transportPeer, s *transportMessage) {
	r := &answering{what: transportMessage{kind: msgSent, id: s.id, token: s.token, at: s.at, n: s.n}, bulk: t.plan.frame > 0}
	r.memory = t.find(p, s.key, s.length)
	within := false
	if r.piece, within = pull.Serve(s.length, s.at, s.n); !within || r.memory == nil {
		r.what.refused, r.memory = true, nil
	} else {
		r.turn = r.memory.turn
	}
	p.replies = append(p.replies, r)
}
