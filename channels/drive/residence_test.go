package drive

import (
	"testing"
	"time"

	"score/channels/abi"
)

// TestFlushedPeerSends: a peer that has nothing pending any more when its flush is over is
// among those that Resume brings back.
func TestFlushedPeerSends(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	if !from.send(1, message(0, 1, 1, 30)) {
		t.Fatal("no space")
	}
	from.asAgent(func(d *Driver) { d.Flush(w.now) })
	for range 3 {
		w.now += int64(time.Millisecond)
		to.drive(false)
		from.drive(true)
	}
	from.asAgent(func(d *Driver) {
		if !d.Flushed() {
			t.Error("all is answered, and the context is not flushed")
		}
		d.Suspend(w.now)
	})
	from.asAgent(func(d *Driver) { d.Resume(w.now) })
	finish(t, w, 1, 30)
	exchangeOne(t, w, 2, 30)
}

// asAgent runs a section of the agent's driver.
func (r *rank) asAgent(section func(*Driver)) {
	r.w.t.Helper()
	if err := r.agent.Take(0); err != nil {
		r.w.t.Fatal(err)
	}
	section(r.agent)
	r.agent.Leave()
}
