package pull

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// long is a freeze: longer than any time that a reader knows.
const long = int64(1e9)

// TestEveryByteOnce: whatever is lost, doubled or overtaken, whoever stands still, dies, lies or
// takes memory away: each byte is taken once, the window holds, and all transfers end. Those of
// honest owners that live end whole.
func TestEveryByteOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lengths []uint64
		for range rapid.IntRange(1, 5).Draw(t, "pulls") {
			lengths = append(lengths, uint64(rapid.IntRange(1, 150).Draw(t, "length")))
		}
		w := newWorld(rapid.IntRange(1, 3).Draw(t, "owners"), lengths...)
		w.fatalf = t.Fatalf
		w.draw = func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(t, label) }
		for _, o := range w.owners {
			o.hostile = w.draw("liar", 0, 4) == 0
		}
		for range w.draw("steps", 0, 300) {
			w.step()
			w.check()
		}
		w.finish(t)
	})
}

// step has one of the ends, or the network, do something.
func (w *world) step() {
	o := w.owners[w.draw("owner", 0, len(w.owners)-1)]
	switch w.draw("step", 0, 11) {
	case 0, 1:
		w.ask()
	case 2, 3:
		w.serve(o)
	case 4, 5:
		w.arrive()
	case 6, 7:
		w.take()
	case 8:
		w.onWord(o)
	case 9:
		w.tick(int64(w.draw("ns", 1, 6000)))
	case 10: // the reader is frozen
		for range w.draw("meanwhile", 0, 10) {
			w.serve(o)
			w.arrive()
		}
		w.now += long
	case 11:
		w.disturb(o)
	}
}

// disturb does what happens rarely.
func (w *world) disturb(o *owner) {
	switch w.draw("disturbance", 0, 9) {
	case 0:
		o.gone = true
	case 1:
		o.closed = true
	case 2:
		if o.gone {
			w.miss(o)
		}
	case 3:
		w.end(w.pulls[w.draw("pull", 0, len(w.pulls)-1)], errStop)
	case 4:
		w.wire = nil // the network is cut for a moment
	}
}

// finish has everything come, and fails if that does not end all transfers.
func (w *world) finish(t interface{ Helper() }) {
	t.Helper()
	for _, o := range w.owners {
		if o.gone {
			w.miss(o)
		}
	}
	was := w.draw
	w.draw = func(label string, low, high int) int {
		if label == "copies" {
			return 1
		}
		return low
	}
	defer func() { w.draw = was }()
	for turn := 0; turn < 1000 && !w.over(); turn++ {
		w.turn()
		w.check()
	}
	for i, p := range w.pulls {
		switch {
		case p.owner.hostile && !p.over: // it never said that it sent a piece
			w.miss(p.owner)
		case !p.over:
			w.fatalf("pull %d does not end: %+v", i, p.Pull)
		}
		if err := p.outcome(); err != nil {
			w.fatalf("pull %d: %v", i, err)
		}
	}
	if w.r.out != 0 || w.r.probes != 0 || len(w.r.active) != 0 || len(w.r.waiting) != 0 {
		w.fatalf("left behind: %+v", w.r)
	}
}

// turn has everybody do all that there is to do.
func (w *world) turn() {
	w.ask()
	for _, o := range w.owners {
		for range 10 {
			w.serve(o)
		}
	}
	for len(w.wire) > 0 {
		w.arrive()
		w.take()
	}
	for len(w.socket) > 0 {
		w.take()
	}
	for _, o := range w.owners {
		w.onWord(o)
	}
	w.tick(2000)
}

// outcome reports what is wrong with how a transfer ended.
func (t *transfer) outcome() error {
	whole := true
	for _, times := range t.taken {
		whole = whole && times == 1
	}
	switch {
	case t.err == nil && !whole:
		return errors.New("it ended with holes")
	case errors.Is(t.err, errGone) && !t.owner.missed:
		return errors.New("its owner is taken for gone, and lives")
	case errors.Is(t.err, errTaken) && !t.owner.closed && !t.owner.hostile:
		return errors.New("its memory was not taken away")
	}
	return nil
}

// disturbances happen in each step of a transfer in turn. want is how all transfers of the owner
// end that had not ended before.
var disturbances = map[string]struct {
	do   func(w *world)
	want error
}{
	"the reader is frozen": {func(w *world) {
		for range 200 { // the owner goes on, and fills the socket
			w.serve(w.owners[0])
			w.arrive()
		}
		w.now += long
	}, nil},
	"the owner is frozen": {func(w *world) {
		for range 200 {
			w.ask()
			w.arrive()
			w.take()
			w.onWord(w.owners[0])
			w.tick(long / 200)
		}
	}, nil},
	"both are frozen":     {func(w *world) { w.now += long }, nil},
	"the network is cut":  {func(w *world) { w.wire, w.socket = nil, nil }, nil},
	"the owner dies":      {func(w *world) { w.owners[0].gone = true; w.miss(w.owners[0]) }, errGone},
	"it dies unheard":     {func(w *world) { w.owners[0].gone = true }, errGone},
	"its memory is taken": {func(w *world) { w.owners[0].closed = true }, errTaken},
	"the reader stops": {func(w *world) {
		for _, t := range w.pulls {
			if t.owner == w.owners[0] {
				w.end(t, errStop)
			}
		}
	}, errStop},
}

// TestEachStep: two owners send to a reader over a network that loses each seventh frame and
// doubles each eleventh; in each step in turn something happens to the first owner or the reader.
// The other owner's transfer always ends whole.
func TestEachStep(t *testing.T) {
	for name, d := range disturbances {
		t.Run(name, func(t *testing.T) {
			steps := 0
			for at := 0; at == 0 || at < steps; at++ {
				w := newWorld(2, 130, 90, 45)
				w.r.c.Stall = 600 // the story is short if pieces are lost whole
				w.fatalf = func(format string, args ...any) {
					t.Helper()
					t.Fatalf("step %d: "+format, append([]any{at}, args...)...)
				}
				w.regular()
				for step := 0; !w.over(); step++ {
					if step > 10_000 {
						t.Fatalf("step %d: no end", at)
					}
					if step == at {
						d.do(w)
					}
					w.small(step)
					w.check()
					steps = max(steps, step)
					if w.owners[0].gone && step > at+50 {
						w.miss(w.owners[0])
					}
				}
				w.finish(t)
				for i, p := range w.pulls {
					if p.err != nil && (p.owner == w.owners[1] || !errors.Is(p.err, d.want)) {
						t.Errorf("step %d: pull %d ended with %v", at, i, p.err)
					}
				}
			}
			if steps < 100 {
				t.Errorf("a story of %d steps", steps)
			}
		})
	}
}

// regular has the network lose and double frames in a fixed order.
func (w *world) regular() {
	n := 0
	w.draw = func(label string, low, high int) int {
		n++
		switch {
		case label == "copies" && n%7 == 0:
			return 0
		case label == "copies" && n%11 == 0:
			return 2
		case label == "copies":
			return 1
		case label == "which":
			return low + n%min(3, high-low+1)
		}
		return high
	}
}

// small does one thing; all come in turn.
func (w *world) small(step int) {
	switch step % 8 {
	case 0:
		w.ask()
	case 1, 2, 3:
		w.serve(w.owners[step/8%2])
	case 4, 5:
		w.arrive()
	case 6:
		w.take()
		w.take()
	case 7:
		w.onWord(w.owners[step/8%2])
		w.tick(40)
	}
}

// over reports whether all transfers are.
func (w *world) over() bool {
	for _, t := range w.pulls {
		if !t.over {
			return false
		}
	}
	return true
}

// TestServe: an owner serves no piece that is not within its transfer, and a whole piece that is.
func TestServe(t *testing.T) {
	const maxUint64 = ^uint64(0)
	for _, c := range [][3]uint64{{10, 11, 0}, {10, 10, 1}, {10, 0, 11}, {10, maxUint64, 2}, {10, 2, maxUint64}, {0, 1, maxUint64}, {maxUint64, maxUint64, 1}} {
		o, ok := Serve(c[0], c[1], c[2])
		if at, n := o.Piece(); ok || at != c[1] || n != c[2] {
			t.Errorf("a piece of %d from %d on, of %d bytes: %+v", c[2], c[1], c[0], o)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Uint64().Draw(t, "length")
		at := rapid.Uint64Range(0, length).Draw(t, "at")
		n := rapid.Uint64Range(0, min(length-at, 1000)).Draw(t, "n")
		o, ok := Serve(length, at, n)
		if !ok {
			t.Fatal("refused")
		}
		next := at
		for !o.Done() {
			from, size, more := o.Next(rapid.Uint64Range(1, 300).Draw(t, "most"))
			if !more || from != next || size == 0 || size > at+n-next {
				t.Fatalf("%d bytes at %d after %d: %v", size, from, next, more)
			}
			o.Passed(size)
			next += size
		}
		if _, _, more := o.Next(100); more || next != at+n {
			t.Fatalf("it ended at %d, want %d", next, at+n)
		}
	})
}
