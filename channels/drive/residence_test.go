package drive

import (
	"score/channels/abi"
	"testing"
	"time"
)

// TestFlushedPeerSends: a peer that has nothing pending any more when its flush is over is
// among those that Resume brings back.
func TestFlushedPeerSends(t *testing.T) { eachFlow(t, flushedPeerSends) }

func flushedPeerSends(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 2, g)
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	if !from.send(1, message(0, 1, 1, 30)) {
		t.Fatal("no space")
	}
	from.asAgent(func(d *Driver) { d.Flush(w.now) })
	for range 3 {
		w.now += int64(time.Millisecond)
		to.drive(byProcess)
		from.drive(byAgent)
	}
	from.asAgent(func(d *Driver) {
		if !d.Flushed() {
			t.Error("all is answered, and the context is not flushed")
		}
		d.Suspend(w.now)
		d.Follow()
	})
	from.asAgent(func(d *Driver) { d.Resume(w.now); d.Follow() })
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

// TestPartialMessageResumes: the rest of a message is asked for after Resume though the inbox is
// full of what came behind it, and another driver began the message.
func TestPartialMessageResumes(t *testing.T) {
	w := newWorld(t, 3, abi.Geometry{MaxMessage: 4096, LaneBytes: 1 << 14, SharedBytes: 1 << 14})
	to := w.ranks[1]
	first := true
	w.fate = func(d datagram) []datagram {
		if d.from != w.ranks[0].address || d.to != to.address || first {
			first = first && d.to != to.address
			return []datagram{d}
		}
		return nil
	}
	const length = 4000
	if !w.ranks[0].send(1, message(0, 1, 0, length)) {
		t.Fatal("no space")
	}
	w.ranks[0].drive(byProcess) // knows the address now
	to.drive(byAgent)
	for i := range 3 {
		if !w.ranks[2].send(1, message(2, 1, i, length)) {
			t.Fatal("no space")
		}
	}
	for range 20 {
		w.now += int64(time.Millisecond)
		w.ranks[2].drive(byProcess)
		to.drive(byAgent)
	}
	to.asAgent(func(d *Driver) { d.Suspend(w.now); d.Follow() })
	w.fate = nil
	for range 10 {
		w.now += int64(time.Millisecond)
		w.ranks[0].drive(byProcess)
		to.drive(byAgent)
	}
	to.drive(byProcess)
	to.asAgent(func(d *Driver) {
		p := d.peer(0)
		p.lines = d.in.Lines() // its frames are long
		if hint := d.hint(p); p.left != 0 || hint != 1 {
			t.Errorf("%d frames are known to be left, room is told for %d", p.left, hint)
		}
		d.Resume(w.now)
		d.Follow()
	})
	settle(t, w)
	for i := range 4 {
		m, ok := to.in.Poll()
		if !ok || m.Available() < length {
			t.Fatalf("message %d is not complete: %v, %d bytes", i, ok, m.Available())
		}
	}
}

// TestFlushedCopy: a peer all of whose frames are acknowledged is not flushed while a later
// transmission is unanswered.
func TestFlushedCopy(t *testing.T) { eachFlow(t, flushedCopy) }

func flushedCopy(t *testing.T, g abi.Geometry) {
	w := newWorld(t, 2, g)
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	if !from.send(1, message(0, 1, 1, 30)) {
		t.Fatal("no space")
	}
	var late []datagram
	w.fate = func(d datagram) []datagram {
		late = append(late, d)
		return nil
	}
	to.drive(byProcess)
	w.now += int64(2 * time.Millisecond)
	to.drive(byProcess) // acknowledges
	acks := late
	from.drive(byProcess) // asks
	if len(acks) == 0 || len(late) == len(acks) {
		t.Fatalf("%d answers, %d asks", len(acks), len(late)-len(acks))
	}
	from.queue = append(from.queue, acks...)
	from.drive(byProcess)
	from.asAgent(func(d *Driver) {
		if d.Flushed() {
			t.Error("the ask is under way, and the context is flushed")
		}
	})
}
