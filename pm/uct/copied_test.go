package uct

import "testing"

// TestCopiedFollowsTheSlowerEnd: owners copy more if frames pile up at their reader, and less if it
// waits for them.
func TestCopiedFollowsTheSlowerEnd(t *testing.T) {
	var b bulk
	for i, c := range []struct {
		n, waiting, vain int
		want             copied
	}{
		{bulkPerTurn, 0, 0, 0},
		{bulkPerTurn, behind<<16 - 1, 0, 0},
		{bulkPerTurn, behind << 16, 0, 1},
		{bulkPerTurn, behind << 16, 0, 2},
		{bulkPerTurn, behind << 16, 0, mostCopied},
		{bulkPerTurn, 0, bulkPerTurn, 2}, // about as fast
		{bulkPerTurn - 1, 0, bulkPerTurn, 2},
		{1, 0, 1, 1},
		{bulkPerTurn, 0, 2 * bulkPerTurn, 0},
		{bulkPerTurn, 0, 2 * bulkPerTurn, 0},
	} {
		b.vain += c.vain
		b.turn(c.n, c.waiting)
		if got := b.weigh(); got != c.want {
			t.Errorf("step %d: %d of four are copied, want %d", i, got, c.want)
		}
	}
}

// TestCopiedFrames: so many of four frames in a row are copied.
func TestCopiedFrames(t *testing.T) {
	for c := copied(0); c <= 4; c++ {
		n := copied(0)
		for frame := range uint64(4) {
			if c.of(frame << 16) {
				n++
			}
		}
		if n != c {
			t.Errorf("%d of four frames are copied, want %d", n, c)
		}
	}
}
