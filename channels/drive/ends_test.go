package drive

import (
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"testing"
	"time"
)

// TestLastMessageOfTheClosed: a rank that closes its end after a long message is announced as
// closed before the message's tail is sent; its agent sends the tail, and it is taken.
func TestLastMessageOfTheClosed(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	const length = 60000
	if !from.send(1, message(0, 1, 1, length)) {
		t.Fatal("no space")
	}
	from.img.SetState(abi.StateClosed)
	from.asAgent(func(d *Driver) { d.Announce(link.EndClosed) })
	finish(t, w, 1, length)
	if err := to.process.Damage(); err != nil {
		t.Error(err)
	}
}

// TestClosedThenDied: half a message of a rank that closed its end and then died is given up.
func TestClosedThenDied(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	if !from.send(1, message(0, 1, 1, 60000)) {
		t.Fatal("no space")
	}
	to.asAgent(func(d *Driver) {
		d.Drive(w.now)
		d.PeerEnded(0, link.EndClosed)
		d.PeerEnded(0, link.EndDied)
	})
	if m, ok := to.in.Poll(); ok || to.img.Counter(abi.Voided) != 1 {
		t.Errorf("a head without tail: %v, %v", ok, m)
	}
	if rank, ok := to.process.Gone(); rank != 0 || !ok {
		t.Errorf("gone: %d, %v", rank, ok)
	}
}

// TestLateFramesOfTheDead: what comes from a rank after it was given up is dropped, and does no
// damage.
func TestLateFramesOfTheDead(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	if !from.send(1, message(0, 1, 1, 60000)) {
		t.Fatal("no space")
	}
	to.asAgent(func(d *Driver) {
		d.Drive(w.now)
		d.PeerEnded(0, link.EndDied)
	})
	for range 100 {
		w.now += int64(time.Millisecond)
		from.drive(byAgent)
		to.drive(byAgent)
	}
	if err := to.agent.Damage(); err != nil {
		t.Error(err)
	}
	if m, ok := to.in.Poll(); ok || to.img.Counter(abi.Voided) != 1 {
		t.Errorf("a head without tail: %v, %v", ok, m)
	}
}

// TestGoneIsReported: the process learns of a death that was reported to its agent, also if its own
// driver never had to do with that rank.
func TestGoneIsReported(t *testing.T) {
	w := newWorld(t, 3, abi.Geometry{})
	r := w.ranks[0]
	r.asAgent(func(d *Driver) { d.PeerEnded(2, link.EndDied) })
	r.drive(byProcess)
	if rank, ok := r.process.Gone(); rank != 2 || !ok {
		t.Errorf("gone: %d, %v", rank, ok)
	}
	if rank, ok := r.process.Gone(); ok {
		t.Errorf("gone, too: %d", rank)
	}
}

// narrow is a port that knows of a narrower path.
type narrow struct{ *port }

func (narrow) Size(link.Address) int { return link.MinDatagram }

// TestNarrowerPath: frames that are too long for the path that the next driver knows are sent all
// the same.
func TestNarrowerPath(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	from := w.ranks[0]
	exchangeOne(t, w, 0, 30)
	w.fate = func(datagram) []datagram { return nil }
	if !from.send(1, message(0, 1, 1, 4000)) {
		t.Fatal("no space")
	}
	w.fate = nil
	next, err := New(from.img, narrow{&port{r: from}}, from.agent.where, abi.RoleAgent)
	if err != nil {
		t.Fatal(err)
	}
	from.agent = next
	for range 20 {
		w.now += int64(time.Millisecond)
		from.drive(byAgent)
		w.ranks[1].drive(byProcess)
	}
	if err := next.Damage(); err != nil {
		t.Error(err)
	}
	finish(t, w, 1, 4000)
}

// TestFlushDoesNotAsk: a context that is flushing needs nobody's address, and does not want to be
// driven for one.
func TestFlushDoesNotAsk(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	w.fate = func(datagram) []datagram { return nil }
	r := w.ranks[0]
	if !r.send(1, []byte("x")) {
		t.Fatal("no space")
	}
	r.asAgent(func(d *Driver) { d.Flush(w.now) })
	w.now += int64(time.Second)
	r.drive(byAgent)
	if due := r.img.Due(); due != flowctl.NoDeadline {
		t.Errorf("wants to be driven at %d, it is %d", due, w.now)
	}
}

// TestOldQuestion: a question that was not answered long ago, by what this driver knows, says
// nothing about the peer.
func TestOldQuestion(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	w.fate = func(datagram) []datagram { return nil }
	r := w.ranks[0]
	if !r.send(1, message(0, 1, 0, 30)) {
		t.Fatal("no space")
	}
	w.fate = nil
	w.now += 2 * int64(flowctl.DefaultFailAfter)
	r.drive(byProcess)
	if err := r.process.Space(1, 1); err != nil {
		t.Errorf("one question was lost: %v", err)
	}
	finish(t, w, 0, 30)
}

// TestFramesOfTheClosedAndDead: what comes of a message after the death of a peer that had closed
// its end does not begin it.
func TestFramesOfTheClosedAndDead(t *testing.T) {
	w := newWorld(t, 2, abi.Geometry{})
	from, to := w.ranks[0], w.ranks[1]
	exchangeOne(t, w, 0, 30)
	if !from.send(1, message(0, 1, 1, 60000)) {
		t.Fatal("no space")
	}
	to.asAgent(func(d *Driver) {
		d.PeerEnded(0, link.EndClosed)
		d.PeerEnded(0, link.EndDied)
		d.Drive(w.now)
	})
	if m, ok := to.in.Poll(); ok {
		t.Errorf("the head of a message without tail: %d of %d bytes", m.Available(), m.Len())
	}
}
