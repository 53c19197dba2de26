package uct

import "testing"

// TestCopiedFollowsTheSlowerEnd: owners copy frames as long as those wait for their reader.
func TestCopiedFollowsTheSlowerEnd(t *testing.T) {
	var b bulk
	weigh := func(waited, others int) copied {
		for range waited {
			b.note(true)
		}
		for range others {
			b.note(false)
		}
		return b.weigh()
	}
	for i, c := range []struct {
		waited, others int
		want           copied
	}{
		{weighAfter - 1, 0, 0}, // too few
		{1, 0, 1},
		{2 * weighAfter, weighAfter, 1}, // about as fast
		{weighAfter, 0, 2},
		{weighAfter, 0, mostCopied},
		{weighAfter, weighAfter + 1, 1},
		{0, weighAfter, 0},
		{0, weighAfter, 0},
	} {
		if got := weigh(c.waited, c.others); got != c.want {
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
