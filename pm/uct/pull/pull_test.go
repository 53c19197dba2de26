package pull

import (
	"testing"
	"time"
)

// small is a reader whose numbers are small, so that all of them matter.
func small() Config {
	return Config{Window: 60, MinWindow: 20, Piece: 20, Grace: 100, MaxGrace: 1000, Stall: 5000}
}

// TestLostFrameIsAskedForAgain: only what is missing, and only a moment after the last frame of the
// piece has come.
func TestLostFrameIsAskedForAgain(t *testing.T) {
	r := New(small())
	p := r.Start(0, 20)
	r.Asked(0)
	r.Took(1, p, 0, 5)
	r.Took(10, p, 10, 10)
	r.Tick(10 + r.grace() - 1)
	if _, _, _, ok := r.Next(); ok {
		t.Error("asked again at once")
	}
	r.Tick(10 + r.grace())
	if q, at, n, ok := r.Next(); !ok || q != p || at != 5 || n != 5 {
		t.Errorf("asked for %d bytes at %d, want 5 at 5", n, at)
	}
}

// TestLostLastFrameIsAskedForAgain: only after the owner has said that it was sent, which it is
// asked once, however long it takes.
func TestLostLastFrameIsAskedForAgain(t *testing.T) {
	for name, came := range map[string]uint64{"all but the last": 15, "none": 0} {
		t.Run(name, func(t *testing.T) {
			r := New(small())
			p := r.Start(0, 20)
			r.Asked(0)
			if came > 0 {
				r.Took(1, p, 0, came)
			}
			if _, _, _, ok := r.Probe(); ok {
				t.Error("probed at once")
			}
			r.Tick(r.Deadline())
			if q, at, n, ok := r.Probe(); !ok || q != p || at != 0 || n != 20 {
				t.Errorf("probed %d bytes at %d: %v", n, at, ok)
			}
			r.Probed()
			r.Tick(int64(time.Hour))
			if _, _, _, ok := r.Probe(); ok {
				t.Error("probed again")
			}
			if _, _, _, ok := r.Next(); ok {
				t.Error("asked again, though the owner may not have sent it")
			}
			r.Sent(int64(time.Hour), p, 0, 20)
			r.Tick(r.Deadline())
			if q, at, n, ok := r.Next(); !ok || q != p || at != came || n != 20-came {
				t.Errorf("asked for %d bytes at %d, want %d at %d", n, at, 20-came, came)
			}
		})
	}
}

// TestSilentOwnerHoldsNobodyUp: what an owner does not send leaves the window.
func TestSilentOwnerHoldsNobodyUp(t *testing.T) {
	r := New(small())
	r.Start(0, 60)
	for range 3 {
		r.Asked(0)
	}
	other := r.Start(1, 20)
	if _, _, _, ok := r.Next(); ok {
		t.Fatal("the window is exceeded")
	}
	r.Tick(5000)
	if p, _, _, ok := r.Next(); !ok || p != other {
		t.Error("the other owner is not asked")
	}
}

// TestForgedOwnerAnswers: what was not asked for is not expected, and words about it have no
// effect.
func TestForgedOwnerAnswers(t *testing.T) {
	r := New(small())
	p := r.Start(0, 40)
	r.Asked(0)
	for _, f := range [][2]uint64{{0, 0}, {0, 21}, {20, 1}, {1 << 63, 1 << 63}, {19, ^uint64(0)}, {^uint64(0), 2}} {
		if p.Expects(f[0], f[1]) {
			t.Errorf("%d bytes at %d are expected", f[1], f[0])
		}
		r.Sent(0, p, f[0], f[1])
	}
	if r.Tick(int64(r.c.Stall) - 1); len(p.pieces) != 1 || p.pieces[0].sent || r.out != 20 {
		t.Errorf("words about nothing had an effect: %+v", p)
	}
}

// TestConfigFor: whatever a socket holds, a reader asks for something, and for no more than that
// but for one piece.
func TestConfigFor(t *testing.T) {
	for _, room := range []int{0, 1, 4096, 100 << 10, 208 << 10, 1 << 20, 64 << 20} {
		r := New(ConfigFor(room))
		r.Start(0, 1<<30)
		sum := 0
		for _, _, n, ok := r.Next(); ok && sum <= 1<<30; _, _, n, ok = r.Next() {
			r.Asked(0)
			sum += int(n)
		}
		if sum == 0 || sum > max(room, minPiece) || sum > windowPieces*maxPiece {
			t.Errorf("%d bytes are asked for with room for %d", sum, room)
		}
	}
}

func BenchmarkPull(b *testing.B) {
	r := New(DefaultConfig())
	b.ReportAllocs()
	for b.Loop() {
		p := r.Start(0, 1<<20)
		for !p.Done() {
			_, at, n, _ := r.Next()
			r.Asked(0)
			r.Took(1, p, at, n)
		}
		r.Recycle(p)
	}
}
