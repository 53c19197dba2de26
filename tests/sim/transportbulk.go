package sim

import (
	"fmt"
	"time"
)

// bulkFrame is a bulk datagram.
type bulkFrame struct {
	job      uint16
	from, to uint16
	said     transportMessage
}

// bulkFlight is a bulk datagram under way.
type bulkFlight struct {
	frame bulkFrame
	dest  int32 // end
}

// drawTransportWorld makes a world one of transports: with fewer gangs, and enough time for them to
// be switched in the middle of what they do.
func drawTransportWorld(s *scenario, p *clusterPlan) {
	p.gangs, p.later = minGangs, min(p.later, 1)
	p.slice = min(p.slice, int64(10*time.Millisecond))
	p.skew = min(p.skew, p.slice/4)
	s.calm = min(p.slice*8, int64(60*time.Millisecond))
}

// emit sends a bulk datagram through the network, with its faults. A damaged one counts as lost:
// there is a checksum.
func (t *transport) emit(p *transportPeer, s transportMessage) {
	w, e := t.e.w, t.e
	w.res.Bulk++
	f := bulkFrame{job: e.spec.Job, from: e.spec.Rank, to: p.rank, said: s}
	if w.rng.chance(w.faults.loss) || w.rng.chance(w.faults.corrupt) {
		w.res.BulkLost++
		return
	}
	w.launchBulk(w.peer(e, p.rank), f)
	if w.rng.chance(w.faults.duplicate) {
		w.launchBulk(w.peer(e, p.rank), f)
	}
	if w.rng.chance(w.faults.stray) {
		w.launchBulk(w.ends[w.rng.below(len(w.ends))], f)
	}
}

func (w *world) launchBulk(dest *end, f bulkFrame) {
	var ref int32
	if n := len(w.freeBulk); n > 0 {
		ref, w.freeBulk = w.freeBulk[n-1], w.freeBulk[:n-1]
	} else {
		ref = int32(len(w.bulk))
		w.bulk = append(w.bulk, bulkFlight{})
	}
	w.bulk[ref] = bulkFlight{f, dest.index}
	at := w.now + w.faults.delay + w.rng.span(0, w.faults.jitter)
	if w.rng.chance(w.faults.reorder) {
		at += w.rng.span(0, bulkLate)
	}
	w.queue.add(at, evBulk, ref, 0)
}

// bulkLate bounds the delay of a bulk datagram, in ns: it may outlive its transfer.
const bulkLate = int64(5 * time.Millisecond)

// arriveBulk brings a bulk datagram to a socket, which holds it whether its process runs or not. It
// belongs to the process alone: its agent has no part in it.
func (w *world) arriveBulk(ref int32) {
	f := w.bulk[ref]
	w.freeBulk = append(w.freeBulk, ref)
	e := w.ends[f.dest]
	t := e.transport
	if e.gone() || t.held > 0 && t.held+int(f.frame.said.n) > t.plan.room {
		w.res.BulkLost++
		return
	}
	t.socket = append(t.socket, f.frame)
	t.held += int(f.frame.said.n)
	if e.running() {
		w.wake(e, w.now+e.think)
	} else {
		w.res.Frozen++
	}
}

// take takes bulk datagrams that have come, to where they belong.
func (t *transport) take() {
	for range framesInTurn {
		if len(t.socket) == 0 {
			return
		}
		f := t.socket[0]
		t.socket = t.socket[1:]
		t.held -= int(f.said.n)
		if c := t.callOf(&f); c != nil {
			t.took(c, &f.said)
		}
	}
}

// callOf returns the call that expects a datagram, or nil.
func (t *transport) callOf(f *bulkFrame) *call {
	e, s := t.e, &f.said
	if f.job != e.spec.Job || f.to != e.spec.Rank || int(s.id) > len(t.calls) {
		return nil
	}
	c := t.calls[s.id-1]
	switch {
	case c == nil || c.pull == nil || c.peer.rank != f.from || c.peer.lost:
		return nil
	case c.token != s.token && !t.bugs.noTokens:
		return nil
	case !c.pull.Expects(s.at, s.n) && (!t.bugs.takesAll || c.late):
		return nil
	}
	return c
}

// done reports whether nothing is under way, or is to come, with peers that live.
func (t *transport) done() bool {
	if len(t.todo) > 0 || len(t.calls) != len(t.free) {
		return false
	}
	for _, p := range t.peers {
		if p != nil && !p.lost && (p.active > 0 || t.wants(p)) {
			return false
		}
	}
	return true
}

// over reports whether the transport is done, and knows of the ranks that have died: these may have
// said something before.
func (t *transport) over(p *program) bool {
	for _, e := range p.ends {
		if peer := t.peers[e.spec.Rank]; peer != nil && e.dead && !peer.lost {
			return false
		}
	}
	return t.done()
}

// String describes what is under way.
func (t *transport) String() string {
	text := fmt.Sprintf("%d operations to begin, %d calls, %d frames in the socket", len(t.todo), len(t.calls)-len(t.free), len(t.socket))
	for _, p := range t.peers {
		if p != nil && (p.active > 0 || t.wants(p)) {
			text += fmt.Sprintf("; rank %d: %d active, %d out, %d not acknowledged, %d answers, lost %v, held back %v",
				p.rank, p.active, len(p.out), len(p.unacked), len(p.replies), p.lost, p.barrier != nil)
		}
	}
	return text
}

// String names the kind.
func (k operationKind) String() string {
	return [...]string{
		opSend: "a send", opPut: "a put", opFill: "a long put", opGet: "a get", opPull: "a long get",
		opAdd: "an add", opFetch: "a fetch", opWrong: "a put to no key",
	}[k]
}

// String names an operation.
func (o *operation) String() string {
	return fmt.Sprintf("%v of %d bytes to rank %d", o.kind, o.length, o.peer.rank)
}

// checkTransports checks, at the end of a job, its sums and that nothing is left.
func (k *cluster) checkTransports(p *program) {
	died := false
	for _, e := range p.ends {
		died = died || e.dead
	}
	for _, e := range p.ends {
		t := e.transport
		if t == nil || died {
			continue
		}
		want := uint64(0)
		for _, other := range p.ends {
			if mine := other.transport.peers; mine[e.spec.Rank] != nil {
				want += mine[e.spec.Rank].adds
			}
		}
		if t.counter != want {
			k.w.fail(Right, "%v: its counter is %d after %d adds", e, t.counter, want)
		}
		if len(t.exposed) != len(t.unused) {
			k.w.fail(Freed, "%v: %d pieces of memory are still exposed", e, len(t.exposed)-len(t.unused))
		}
	}
}
