package mmsg

import "testing"

// A stream doubles the batch with each full call but the first; a gap ends that, and a look in vain
// the stream.
func TestReceiveSize(t *testing.T) {
	var r ReceiveSize
	for i, step := range []struct{ got, size int }{
		{1, 1}, {1, 2}, {2, 4}, {3, 4}, {4, 4}, {4, 8}, {8, 8}, {0, 1}, {1, 1}, {1, 2},
	} {
		if step.got == 0 {
			r.Missed()
		} else {
			r.Took(step.got)
		}
		if r.Next() != step.size {
			t.Fatalf("step %d: %d are asked for, want %d", i, r.Next(), step.size)
		}
	}
}
