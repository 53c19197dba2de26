package wait

import (
	"testing"
	"testing/synctest"
	"time"
)

// A user's turns that never end keep only that user's others waiting, and these not for ever.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ann, bob, most, timeout = 1, 2, 2, time.Second
		turns := NewTurns(most)
		first := turns.Take(t.Context(), ann, timeout)
		if first == nil || turns.Take(t.Context(), ann, timeout) == nil {
			t.Fatal("no turn is free at the beginning")
		}
		begin := time.Now()
		if turns.Take(t.Context(), ann, timeout) != nil || time.Since(begin) != timeout {
			t.Errorf("one more turn than there are, or a wait of %v", time.Since(begin))
		}
		if turns.Take(t.Context(), bob, timeout) == nil {
			t.Error("another user waits")
		}
		time.AfterFunc(timeout/2, first)
		if turns.Take(t.Context(), ann, timeout) == nil {
			t.Error("a turn that has ended is not given again")
		}
	})
}
