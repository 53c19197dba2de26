package reliable

import (
	"testing"
	"time"
)

// A peer that sends learns with the acknowledgement that it should pause, hears it again while that
// lasts, and hears the end at once. A peer that never sent hears nothing.
func TestPause(t *testing.T) {
	w := newWorld()
	sender, receiver := w.endpoints[0], w.endpoints[1]
	receiver.peer(peerOf(2))
	receiver.SetPause(w.now, true)
	if d := receiver.Deadline(); !d.IsZero() {
		t.Fatalf("there is nobody to tell, and something is due at %v", d)
	}
	if err := w.send(0, "a"); err != nil {
		t.Fatal(err)
	}
	exchange := func() (headers int) {
		for len(w.way) > 0 {
			if to := w.way[0].To; to == peerOf(2) {
				t.Fatalf("%v is told", to)
			}
			if w.way[0].Number == 0 {
				headers++
			}
			w.deliver(0)
			w.drop(0)
		}
		return headers
	}
	exchange()
	if sender.Paused() {
		t.Fatal("it pauses before it was told")
	}
	begin := w.now
	for range 6 {
		w.tick()
		if exchange() != 1 || !sender.Paused() {
			t.Fatalf("after %v the sender does not pause", w.now.Sub(begin))
		}
		for sender.Deadline().Before(receiver.Deadline()) {
			w.tick()
		}
	}
	if got, want := w.now.Sub(begin), ackDelay+5*pauseRepeat; got > want {
		t.Errorf("asked six times in %v, want %v", got, want)
	}
	receiver.SetPause(w.now, false)
	if d := receiver.Deadline(); d != w.now {
		t.Errorf("the end is told at %v", d)
	}
	w.tick()
	if exchange() != 1 || sender.Paused() {
		t.Error("the sender does not hear the end")
	}
	for range 2 { // what was due for the pause may come once
		w.tick()
	}
	if w.tick() {
		t.Error("something is due for ever")
	}
}

// A pause ends by itself if the peer that asked for it falls silent.
func TestPauseOfSilentPeer(t *testing.T) {
	w := newWorld()
	o := w.endpoints[0]
	o.Receive(w.now, peerOf(1), Header{Stream: 12, Pause: true})
	begin := w.now
	for o.Paused() {
		if !w.tick() {
			t.Fatal("it pauses for ever")
		}
	}
	if got := w.now.Sub(begin); got != pauseFor {
		t.Errorf("it paused for %v, want %v", got, pauseFor)
	}
	o.Receive(w.now.Add(time.Second), peerOf(1), Header{Stream: 11, Pause: true})
	if o.Paused() {
		t.Error("a former steward lets it pause")
	}
}
