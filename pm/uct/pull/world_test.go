package pull

import (
	"errors"
	"fmt"
)

// world is a reader with owners, and the network between them.
//
//	asked ─▶ Owner ─▶ wire ─▶ socket ─▶ Reader      wire loses, doubles and reorders
//	           └──────▶ said ───────────▶           questions, probes and words arrive, in order
//
// Who does nothing for a while is frozen.
type world struct {
	fatalf func(format string, args ...any)
	draw   func(label string, low, high int) int // whatever happens is drawn
	r      *Reader
	room   int // bytes of the socket
	now    int64
	pulls  []*transfer
	owners []*owner
	wire   []frame
	socket []frame
	full   int // frames that the socket had no room for
	fresh  int // pieces that were asked for since the window was cut
}

// transfer is a pull with what became of it.
type transfer struct {
	*Pull
	owner *owner
	taken []uint8 // how often each byte was
	ended bool    // its end was reported
	err   error
	over  bool // its number may name another: nothing of it is under way
}

// owner answers questions in order.
type owner struct {
	asked   []question // that it did not look at yet
	now     Owner      // what it sends now,
	piece   frame      // the piece it is of,
	serving bool       // if it does
	said    []word
	gone    bool // it died
	closed  bool // its memory was taken away
	hostile bool
	missed  bool // the reader knows that it is gone
}

// frame is bytes of a transfer.
type frame struct {
	id    int
	at, n uint64
}

// question asks for a piece, or whether it was sent.
type question struct {
	frame
	probe bool
}

// word says that a piece was sent, or why it was not.
type word struct {
	frame
	err error
}

var (
	errTaken = errors.New("the memory was taken away")
	errGone  = errors.New("the owner is gone")
	errStop  = errors.New("the reader does not want it any more")
)

// newWorld makes a world of owners, and begins transfers of the lengths from each.
func newWorld(owners int, lengths ...uint64) *world {
	w := &world{r: New(small()), room: small().Window * 8 / 7}
	for range owners {
		w.owners = append(w.owners, &owner{})
	}
	for i, n := range lengths {
		t := &transfer{Pull: w.r.Start(uint32(i), n), owner: w.owners[i%owners], taken: make([]uint8, n)}
		w.pulls = append(w.pulls, t)
	}
	return w
}

// ask sends what the reader asks for next, and a probe.
func (w *world) ask() {
	if p, at, n, ok := w.r.Probe(); ok {
		o := w.pulls[p.ID].owner
		o.asked = append(o.asked, question{frame{int(p.ID), at, n}, true})
		w.r.Probed()
	}
	p, at, n, ok := w.r.Next()
	if !ok {
		return
	}
	t := w.pulls[p.ID]
	if t.owner.missed {
		w.r.Stop(p)
		return
	}
	t.owner.asked = append(t.owner.asked, question{frame{int(p.ID), at, n}, false})
	w.r.Asked(w.now)
	w.fresh++
}

// serve has an owner send a frame, or answer a probe.
func (w *world) serve(o *owner) {
	if o.gone {
		return
	}
	if !o.serving {
		if len(o.asked) == 0 {
			return
		}
		q := o.asked[0]
		o.asked = o.asked[1:]
		if q.probe {
			o.said = append(o.said, w.lie(o, word{q.frame, nil}))
			return
		}
		o.piece = q.frame
		ok := false
		if o.now, ok = Serve(uint64(len(w.pulls[o.piece.id].taken)), o.piece.at, o.piece.n); !ok {
			w.fatalf("an honest reader asks for %+v", o.piece)
		}
		o.serving = true
	}
	at, n, more := o.now.Next(uint64(w.draw("frame", 3, 8)))
	switch {
	case o.closed:
		o.serving = false
		o.said = append(o.said, word{o.piece, errTaken})
	case more:
		w.send(frame{o.piece.id, at, n}, o.hostile)
		o.now.Passed(n)
	default:
		o.serving = false
		if o.hostile {
			o.said = append(o.said, w.lie(o, word{o.piece, nil}))
		}
	}
}

// lie is what a liar says in place of a word.
func (w *world) lie(o *owner, said word) word {
	if o.hostile {
		switch w.draw("lie", 0, 3) {
		case 0:
			said.at += uint64(w.draw("at", 0, 5))
		case 1:
			said.n = ^uint64(w.draw("n", 0, 5))
		case 2:
			said.err = errTaken
		}
	}
	return said
}

// send lets the network have its way with a frame.
func (w *world) send(f frame, lies bool) {
	if lies {
		f.at += uint64(w.draw("at", 0, 3)) * uint64(w.draw("far", 0, 40))
		f.n = max(1, f.n<<w.draw("longer", 0, 60))
	}
	for range w.draw("copies", 0, 2) {
		w.wire = append(w.wire, f)
	}
}

// arrive brings a frame to the reader's socket, whichever one.
func (w *world) arrive() {
	if len(w.wire) == 0 {
		return
	}
	i := w.draw("which", 0, len(w.wire)-1)
	f := w.wire[i]
	w.wire = append(w.wire[:i], w.wire[i+1:]...)
	held := 0
	for _, g := range w.socket {
		held += int(min(g.n, 1<<16))
	}
	if held > 0 && held+int(min(f.n, 1<<16)) > w.room {
		w.full++
		return
	}
	w.socket = append(w.socket, f)
}

// take has the reader take a frame.
func (w *world) take() {
	if len(w.socket) == 0 {
		return
	}
	f := w.socket[0]
	w.socket = w.socket[1:]
	t := w.pulls[f.id]
	if t.over || t.owner.missed || !t.Expects(f.at, f.n) {
		return
	}
	if t.ended {
		w.fatalf("pull %d takes a frame, and its memory is its caller's again", f.id)
	}
	w.r.Took(w.now, t.Pull, f.at, f.n)
	for at := f.at; at < f.at+f.n; at++ {
		t.taken[at]++
	}
	if t.Done() {
		w.end(t, nil)
	}
}

// onWord has the reader take a word of an owner.
func (w *world) onWord(o *owner) {
	if len(o.said) == 0 || o.missed {
		return
	}
	said := o.said[0]
	o.said = o.said[1:]
	t := w.pulls[said.id]
	if t.over {
		return // the token of its number is another now
	}
	if w.r.Sent(w.now, t.Pull, said.at, said.n); said.err != nil {
		w.end(t, said.err)
	}
	w.settle(t)
}

// end tells a transfer's caller.
func (w *world) end(t *transfer, err error) {
	if t.ended {
		return
	}
	t.ended, t.err = true, err
	w.r.Stop(t.Pull)
	w.settle(t)
}

// settle gives the number of a transfer back once its owner owes nothing.
func (w *world) settle(t *transfer) {
	if t.ended && !t.over && t.Settled() {
		t.over = true
		w.r.Recycle(t.Pull)
		t.Pull = &Pull{}
	}
}

// miss ends all transfers of an owner that died.
func (w *world) miss(o *owner) {
	if o.missed {
		return
	}
	o.missed = true
	for _, t := range w.pulls {
		if t.owner != o || t.over {
			continue
		}
		w.end(t, errGone)
		if !t.over {
			t.over = true
			w.r.Recycle(t.Pull)
			t.Pull = &Pull{}
		}
	}
}

// tick passes time, and has the reader do what is due. What waits in the socket is looked at first.
func (w *world) tick(ns int64) {
	w.now += ns
	if len(w.socket) > 0 || w.now < w.r.Deadline() {
		return
	}
	before := w.r.window
	if w.r.Tick(w.now); w.r.window == before {
		return
	}
	if w.fresh == 0 || w.r.window < before-before/lossCut {
		w.fatalf("the window is cut from %d to %d, with %d pieces asked for since it was last", before, w.r.window, w.fresh)
	}
	w.fresh = 0
}

// check checks what must always hold.
func (w *world) check() {
	out, longest := 0, 0
	for i, t := range w.pulls {
		for at, times := range t.taken {
			if times > 1 {
				w.fatalf("pull %d: byte %d was taken %d times", i, at, times)
			}
		}
		if t.over {
			continue
		}
		if err := t.check(); err != nil {
			w.fatalf("pull %d: %v", i, err)
		}
		for j := range t.pieces {
			if c := &t.pieces[j]; c.counted {
				out += int(c.left)
				longest = max(longest, int(c.left))
			}
		}
	}
	if out != w.r.out || out > max(w.r.c.Window, longest) {
		w.fatalf("%d bytes are asked for, the reader says %d of %d", out, w.r.out, w.r.c.Window)
	}
}

// check reports whether each byte that is missing is accounted for.
func (t *transfer) check() error {
	left := t.length
	for _, times := range t.taken {
		left -= uint64(times)
	}
	if left != t.left {
		return fmt.Errorf("%d bytes are missing, it says %d", left, t.left)
	}
	there := t.length - t.next
	for _, s := range t.again {
		there += s.to - s.from
	}
	for i := range t.pieces {
		there += t.pieces[i].left
	}
	if !t.stopped && there != left || len(t.pieces) > MaxPieces {
		return fmt.Errorf("%d of %d missing bytes are accounted for, %d pieces", there, left, len(t.pieces))
	}
	return nil
}
