package drive

import (
	"runtime"
	"score/channels"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"testing"
	"time"
)

// TestHeldIsDue: what a port holds back goes soon, though its owner has nothing else to do until an
// answer is late.
func TestHeldIsDue(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	w.now = channels.Nanos()
	exchangeOne(t, w, 0, 10) // the peer's address is known
	r := w.ranks[0]
	driver, err := New(r.img, link.WithFaults(&port{r: r}, link.Faults{Reorder: 1, Seed: 1}), r.process.where, abi.RoleProcess)
	if err != nil {
		t.Fatal(err)
	}
	r.process = driver
	r.drive(byProcess) // a new driver has everything to look at
	w.now = channels.Nanos()
	if !driver.Enter() {
		t.Fatal("the lock is held")
	}
	if err := driver.Send(1, message(0, 1, 1, 10), true, w.now); err != nil {
		t.Fatal(err)
	}
	driver.Leave()
	// The question for the peer's address is held, and then the message.
	for ; len(w.ranks[1].queue) == 0; r.drive(byProcess) {
		if len(r.queue) > 0 {
			continue // the answer came with the last flush; a socket would say so
		}
		w.now = driver.Due()
		if wait := w.now - channels.Nanos(); wait >= int64(flowctl.DefaultRTOFloor)/2 {
			t.Fatalf("due only in %v", time.Duration(wait))
		}
		for channels.Nanos() < w.now {
			runtime.Gosched() // the port has a clock of its own
		}
	}
}
