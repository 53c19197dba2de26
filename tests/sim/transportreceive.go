package sim

import (
	"score/pm/uct/order"
	"score/pm/uct/pull"
	"slices"
)

// onMessage takes a message of a peer.
func (t *transport) onMessage(from uint16, index uint64) {
	p := t.peers[from]
	if p == nil || p.lost {
		return
	}
	said := t.e.w.peer(t.e, from).transport.peers[t.e.spec.Rank].said
	if index >= uint64(len(said)) {
		t.e.w.fail(Right, "%v: message %d of rank %d was never sent", t.e, index, from)
		return
	}
	s := said[index]
	switch s.kind {
	case msgOffer:
		c := t.newCall(p, s.length)
		c.send, c.key, c.want = s.id, s.key, []memoryRun{{s.length, s.value}}
		t.startPull(c)
	case msgTaken:
		if o := p.sends[s.id-1]; !o.ended {
			t.end(o, false)
		}
	case msgPut, msgFill, msgAdd:
		t.serve(p, &s)
	case msgAsk:
		t.answerAsk(p, &s)
	case msgProbe:
		t.answerProbe(p, &s)
	case msgGet:
		t.answerGet(p, &s)
	case msgFetch:
		was := t.counter
		t.counter++
		p.replies = append(p.replies, &answering{what: transportMessage{kind: msgDone, id: s.id, value: int64(was)}})
	case msgSent:
		t.onSent(p, &s)
	case msgData, msgDone:
		t.onAnswer(p, &s)
	case msgAck:
		t.onAck(p, s.upTo)
	case msgNak:
		for _, o := range append(p.unacked, p.out[:min(1, len(p.out))]...) {
			o.failed = o.failed || o.run.Meets(s.run.First, s.run.Last)
		}
	}
}

// serve serves a request, or begins to.
func (t *transport) serve(p *transportPeer, s *transportMessage) {
	switch s.kind {
	case msgPut:
		m := t.find(p, s.key, s.n)
		if m != nil {
			m.write(s.at, s.n, s.value)
		}
		t.served(p, m != nil)
	case msgFill:
		c := t.newCall(p, s.length)
		c.fills, c.key, c.want = true, s.key, []memoryRun{{s.length, s.value}}
		t.startPull(c)
	default:
		t.counter++
		t.served(p, true)
	}
}

// served counts a request, and refuses it if it could not be done.
func (t *transport) served(p *transportPeer, done bool) {
	n := p.answers.Serve()
	if done {
		return
	}
	if last := len(p.replies) - 1; last >= 0 && p.replies[last].what.kind == msgNak && p.replies[last].run.Precedes(n) {
		p.replies[last].run.Add(n)
		return
	}
	p.answers.Refuse()
	p.replies = append(p.replies, &answering{what: transportMessage{kind: msgNak}, run: order.RunOf(n)})
}

// answerGet answers a get in pieces through the channel. A short answer is copied, since what
// follows may write to the memory; the origin of a long one holds that back.
func (t *transport) answerGet(p *transportPeer, s *transportMessage) {
	m := t.find(p, slotKey, s.length)
	if s.length <= maxCopied {
		m = &memory{length: s.length, runs: m.read(0, s.length)}
	}
	r := &answering{what: transportMessage{kind: msgData, id: s.id}, memory: m, turn: m.turn}
	r.piece, _ = pull.Serve(s.length, 0, s.length)
	p.replies = append(p.replies, r)
}

func (t *transport) onAck(p *transportPeer, upTo uint32) {
	if !p.asks.OnAck(upTo) {
		t.e.w.fail(Right, "%v: rank %d acknowledges %d of %+v", t.e, p.rank, upTo, p.asks)
		return
	}
	for len(p.unacked) > 0 && p.asks.Served(p.unacked[0].run.Last) {
		o := p.unacked[0]
		p.unacked = p.unacked[1:]
		if p.barrier == o {
			p.barrier = nil
		}
		t.end(o, o.failed)
	}
}

// onAnswer takes a part of an answer, or its end.
func (t *transport) onAnswer(p *transportPeer, s *transportMessage) {
	w := t.e.w
	var c *call
	if int(s.id) <= len(t.calls) && s.id > 0 {
		c = t.calls[s.id-1]
	}
	if c == nil || c.peer != p {
		w.fail(Right, "%v: rank %d answers %d, which it was not asked", t.e, p.rank, s.id)
		return
	}
	switch {
	case s.kind == msgDone:
		t.onFetched(c, s)
	case c.pull != nil:
		if !c.late {
			t.took(c, s)
		}
	default:
		c.buffer.put(s.at, s.bytes)
		if c.got += s.n; c.got == c.length {
			t.endCall(c, false)
			t.forget(c)
		}
	}
}

func (t *transport) onFetched(c *call, s *transportMessage) {
	was := uint64(s.value) + 1
	if was <= c.peer.highest {
		t.e.w.fail(Right, "%v: the counter of rank %d went from %d to %d", t.e, c.peer.rank, c.peer.highest, was)
	}
	c.peer.highest = was
	t.end(c.op, false)
	t.forget(c)
}

// onSent notes that a piece was sent, or why it was not. The pull may have ended: the answer to a
// probe crosses frames.
func (t *transport) onSent(p *transportPeer, s *transportMessage) {
	c := t.calls[s.id-1]
	if c == nil || c.peer != p || c.pull == nil || c.token != s.token && !t.bugs.earlyNumbers {
		return
	}
	t.reader.Sent(t.e.w.now, c.pull, s.at, s.n)
	switch {
	case s.refused && !c.late:
		t.endPull(c, true)
	case c.late && c.pull.Settled():
		t.forget(c)
	}
}

// took takes bytes that the pull expects.
func (t *transport) took(c *call, s *transportMessage) {
	if c.late {
		t.e.w.fail(Right, "%v: bytes of call %d, whose memory is its caller's again", t.e, c.id)
		return
	}
	c.buffer.put(s.at, s.bytes)
	t.reader.Took(t.e.w.now, c.pull, s.at, s.n)
	if c.pull.Done() {
		t.endPull(c, false)
	}
}

// endPull ends a pull for its caller; its number is given back when its owner owes nothing.
func (t *transport) endPull(c *call, failed bool) {
	c.late = true
	t.reader.Stop(c.pull)
	t.endCall(c, failed)
	if c.pull.Settled() || t.bugs.earlyNumbers {
		t.forget(c)
	}
}

// endCall checks the bytes, and completes what they were for.
func (t *transport) endCall(c *call, failed bool) {
	w := t.e.w
	if !failed && !slices.Equal(c.buffer.runs, c.want) {
		w.fail(Right, "%v: call %d of rank %d has the bytes %v, want %v", t.e, c.id, c.peer.rank, c.buffer.runs, c.want)
	}
	switch {
	case c.op != nil:
		t.end(c.op, failed)
	case c.fills:
		if !failed {
			c.peer.slot.put(0, c.buffer.runs)
		}
		t.served(c.peer, !failed)
	case failed:
		source := w.peer(t.e, c.peer.rank).transport.peers[t.e.spec.Rank].sends[c.send-1]
		if !source.taken {
			w.fail(Right, "%v: the bytes of send %d of rank %d are gone, and nobody took them away", t.e, c.send, c.peer.rank)
		}
	default:
		c.peer.replies = append(c.peer.replies, &answering{what: transportMessage{kind: msgTaken, id: c.send}})
	}
}

// lose ends what is under way with a peer that is gone.
func (t *transport) lose(p *transportPeer) {
	p.lost = true
	rest := t.underWay(p)
	p.replies, p.out, p.unacked, p.barrier = nil, nil, nil, nil
	for _, c := range t.calls {
		if c != nil && c.peer == p {
			t.forget(c)
		}
	}
	for _, o := range rest {
		t.end(o, true)
	}
}

// underWay returns the operations to a peer that were begun and have not ended.
func (t *transport) underWay(p *transportPeer) []*operation {
	all := append(append([]*operation(nil), p.out...), p.unacked...)
	for _, c := range t.calls {
		if c != nil && c.peer == p && c.op != nil && !c.late {
			all = append(all, c.op)
		}
	}
	for _, o := range p.sends {
		if !o.ended {
			all = append(all, o)
		}
	}
	return all
}

// stopped notes what a process was in the middle of when it was stopped.
func (t *transport) stopped() {
	for _, p := range t.peers {
		if p != nil && !p.lost {
			for _, o := range t.underWay(p) {
				t.e.w.res.Midway[o.kind]++
			}
		}
	}
}
