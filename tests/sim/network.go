package sim

// flight is a copy of a frame in the network, or in the socket of an end that
// nobody drives.
type flight struct {
	buf      [FrameSize]byte
	size     int
	from, to int32  // ends
	id       uint32 // number among its pair's frames that want an answer; 0 = none
	copied   bool   // made by the network
}

// Transmit lets the network have its way with a frame.
func (e *end) Transmit(to uint16, frame []byte, wants bool) {
	w := e.w
	w.res.Frames++
	var id uint32
	if wants {
		e.tracks[to].made++
		id = e.tracks[to].made
	}
	if w.rng.chance(w.faults.loss) {
		return
	}
	dest := w.peer(e, to)
	w.launch(e, dest, frame, id, false)
	if w.rng.chance(w.faults.duplicate) {
		w.launch(e, dest, frame, id, true)
	}
	if w.rng.chance(w.faults.stray) {
		if other := w.ends[w.rng.below(len(w.ends))]; other != dest {
			w.launch(e, other, frame, 0, true)
		}
	}
}

// launch puts one copy of a frame under way.
func (w *world) launch(e, dest *end, frame []byte, id uint32, copied bool) {
	ref := w.flight()
	f := &w.flights[ref]
	f.size = copy(f.buf[:], frame)
	f.from, f.to, f.id, f.copied = e.index, dest.index, id, copied
	if w.rng.chance(w.faults.corrupt) {
		f.buf[w.rng.below(f.size)] ^= 1 << w.rng.below(8)
	}
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

// arrive brings a frame to its end.
func (w *world) arrive(ref int32) {
	e := w.ends[w.flights[ref].to]
	switch {
	case e.dead:
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
	w.land(ref)
	if f.id != 0 {
		t := &w.ends[f.from].tracks[e.spec.Rank]
		t.newest = max(t.newest, f.id)
	}
	e.ctx.Input(w.now, f.buf[:f.size])
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
