package pull

import (
	"testing"
	"time"
)

// small is a reader whose numbers are small, so that all of them matter.
func small() Config {
	return Config{Window: 60, MinWindow: 20, Piece: 20, Grace: 100, MaxGrace: 1000, Stall: 5000}
}

// TestLostFrameIsAskedForAgain: only what is missing, and only after the owner said that it was
// sent and a moment has passed.
func TestLostFrameIsAskedForAgain(t *testing.T) {
	r := New(small())
	p := r.Start(0, 20)
	r.Asked(0)
	r.Took(1, p, 0, 5)
	r.Took(1, p, 10, 10)
	r.Tick(int64(time.Hour))
	if _, _, _, ok := r.Next(); ok {
		t.Error("asked again though the owner has not sent all")
	}
	if err := r.Sent(10, p, 0, 20); err != nil {
		t.Fatal(err)
	}
	r.Tick(r.Deadline() - 1)
	if _, _, _, ok := r.Next(); ok {
		t.Error("asked again at once")
	}
	r.Tick(r.Deadline())
	if q, at, n, ok := r.Next(); !ok || q != p || at != 5 || n != 5 {
		t.Errorf("asked for %d bytes at %d, want 5 at 5", n, at)
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

// TestForgedOwnerAnswers: what was not asked for is an error, or not expected.
func TestForgedOwnerAnswers(t *testing.T) {
	r := New(small())
	p := r.Start(0, 40)
	r.Asked(0)
	for _, f := range [][2]uint64{{0, 0}, {0, 21}, {20, 1}, {1 << 63, 1 << 63}, {19, ^uint64(0)}, {^uint64(0), 2}} {
		if p.Expects(f[0], f[1]) {
			t.Errorf("%d bytes at %d are expected", f[1], f[0])
		}
		if r.Sent(0, p, f[0], f[1]) == nil {
			t.Errorf("%d bytes at %d were sent", f[1], f[0])
		}
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
			_ = r.Sent(1, p, at, n)
		}
		r.Recycle(p)
	}
}
