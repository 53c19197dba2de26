package drive

import (
	"score/channels/abi"
	"testing"
	"time"
)

// TestSpaceWakes: an agent that takes the acknowledgement which a sleeping process waits for
// wakes it, and not before it can look.
func TestSpaceWakes(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	zero, one := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	zero.send(1, message(0, 1, 1, 30000))
	one.drive(byProcess)
	if len(zero.queue) == 0 {
		t.Fatal("there is no acknowledgement")
	}
	roused := false
	zero.img.Sleep(time.Hour, func() bool {
		zero.drive(byAgent)
		roused = !zero.img.Sleeping()
		return true
	})
	if !roused {
		t.Error("the process sleeps on")
	}
	zero.img.Sleep(time.Hour, func() bool {
		zero.drive(byAgent)
		if !zero.img.Sleeping() {
			t.Error("woken for nothing")
		}
		return true
	})
}
