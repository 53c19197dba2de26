package sim

import "score/channels/link"

// flight is a copy of a frame in the network, or in the socket of an end that
// nobody drives.
type flight struct {
	buf      []byte
	source   link.Address // as the network tells it
	from, to int32        // ends
	lookup   bool         // to the directory of the end's node
	id       uint32       // number among its pair's frames that want an answer; 0 = none
	copied   bool         // made by the network
}

// Transmit sends a frame through the network, with its faults.
func (e *end) Transmit(to uint16, frame []byte, wants bool) {
	w := e.w
	w.res.Frames++
	var id uint32
	if wants {
		e.tracks[to].made++
		id = e.tracks[to].made
	}
	w.emit(e, w.peer(e, to), flight{source: e.address, id: id}, frame)
}

// Lookup implements Network.
func (e *end) Lookup(to uint16, frame []byte) {
	e.w.res.Frames++
	e.w.emit(e, e.w.peer(e, to), flight{source: e.address, lookup: true}, frame)
}

// emit decides which copies of a frame leave, and where to.
func (w *world) emit(e, dest *end, f flight, frame []byte) {
	if w.rng.chance(w.faults.loss) {
		return
	}
	w.launch(e, dest, f, frame)
	f.copied = true
	if w.rng.chance(w.faults.duplicate) {
		w.launch(e, dest, f, frame)
	}
	if w.rng.chance(w.faults.stray) {
		if other := w.ends[w.rng.below(len(w.ends))]; other != dest {
			f.id = 0
			w.launch(e, other, f, frame)
		}
	}
}

// launch puts one copy of a frame under way.
func (w *world) launch(e, dest *end, f flight, frame []byte) {
	ref := w.flight()
	buf := append(w.flights[ref].buf[:0], frame...)
	f.buf, f.from, f.to = buf, e.index, dest.index
	w.flights[ref] = f
	if w.rng.chance(w.faults.corrupt) {
		buf[w.rng.below(len(buf))] ^= 1 << w.rng.below(8)
	}
	id, copied := f.id, f.copied
	if id != 0 && !copied {
		t := &e.tracks[dest.spec.Rank]
		t.flying = append(t.flying, id)
	}
	at := w.now + w.faults.delay + w.rng.span(0, w.faults.jitter)
	if w.rng.chance(w.faults.reorder) {
		at += w.rng.span(0, 4*(w.faults.delay+w.faults.jitter))
	}
	if last := &w.last[e.node][dest.node]; w.ordered {
		at = max(at, *last)
		*last = at
	}
	w.queue.add(at, evArrive, ref, 0)
}

// flight returns an unused flight.
func (w *world) flight() int32 {
	if n := len(w.free); n > 0 {
		ref := w.free[n-1]
		w.free = w.free[:n-1]
		return ref
	}
	w.flights = append(w.flights, flight{})
	return int32(len(w.flights) - 1)
}

// arrive delivers a frame to its end.
func (w *world) arrive(ref int32) {
	e := w.ends[w.flights[ref].to]
	switch {
	case w.flights[ref].lookup:
		w.answer(e, ref)
	case e.silent() || !e.made:
		w.land(ref)
	case !e.paused:
		w.input(e, ref)
		w.touch(e)
	case len(e.socket) < socketCap:
		e.socket = append(e.socket, ref)
	default:
		w.land(ref)
	}
}

// input hands a frame to its context.
func (w *world) input(e *end, ref int32) {
	f := w.flights[ref]
	w.land(ref) // nothing is launched during Input
	if f.id != 0 {
		t := &w.ends[f.from].tracks[e.spec.Rank]
		t.newest = max(t.newest, f.id)
	}
	e.ctx.Input(w.now, f.source, f.buf)
	e.unblock(w.ends[f.from].spec.Rank)
}

// land ends a flight.
func (w *world) land(ref int32) {
	f := &w.flights[ref]
	w.free = append(w.free, ref)
	if f.id == 0 || f.copied {
		return
	}
	t := &w.ends[f.from].tracks[w.ends[f.to].spec.Rank]
	for i, id := range t.flying {
		if id == f.id {
			last := len(t.flying) - 1
			t.flying[i] = t.flying[last]
			t.flying = t.flying[:last]
			return
		}
	}
}
