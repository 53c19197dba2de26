package drive

import (
	"score/channels"
	"score/channels/abi"
	"score/flowctl"
	"testing"
)

// poll polls once in a section of the process.
func (r *rank) poll() bool {
	r.w.t.Helper()
	if !r.process.Enter() {
		r.w.t.Fatal("the lock is held")
	}
	defer r.process.Leave()
	return r.process.Poll(1)
}

// kept reports whether a message for the peer lies in the send buffer.
func (r *rank) kept(to uint32) bool {
	k, err := r.img.SendBuffer().Oldest(to)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return k != 0
}

// TestPostponed: a lone message is there before what it acknowledged is freed. That is done by the
// process's next section, or by the agent when the message's own acknowledgement is due.
func TestPostponed(t *testing.T) {
	for _, c := range []struct {
		name string
		next func(r *rank)
	}{
		{"poll", func(r *rank) { r.poll() }},
		{"drive", func(r *rank) { r.drive(byProcess) }},
		{"agent", func(r *rank) {
			if due, now := r.img.Due(), channels.Nanos(); due > now+int64(r.process.flow.AckDelay) {
				t.Errorf("due at %d, it is %d", due, now)
			}
			r.drive(byAgent)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 2, abi.Geometry{})
			x, y := w.ranks[0], w.ranks[1]
			exchangeOne(t, w, 0, 8)  // so that the addresses are known
			w.now = channels.Nanos() // Poll looks there
			for i, r := range []*rank{x, y} {
				if !r.send(1-i, message(i, 1-i, 1, 8)) {
					t.Fatal("no space")
				}
				if i == 0 {
					y.drive(byProcess)
				}
			}
			x.process.due = flowctl.NoDeadline // however long it took to get here
			if !x.poll() {
				t.Fatal("nothing came")
			}
			if m, ok := x.in.Poll(); !ok || string(m.Head()) != string(message(1, 0, 1, 8)) {
				t.Fatalf("got %v, %q", ok, m.Head())
			}
			if !x.kept(1) || len(x.process.touched) != 1 {
				t.Error("it was not postponed")
			}
			if c.next(x); x.kept(1) {
				t.Error("it was not done")
			}
		})
	}
}
