package tag_test

import (
	"score/pm/local/localtest"
	"score/pm/tag"
	"testing"
)

// TestSyncIsEager: a short synchronous message is no rendezvous. It ends when a receive has it, or
// it is dropped, and not when it is only kept.
func TestSyncIsEager(t *testing.T) {
	for name, take := range map[string]func(e *tag.Endpoint, r *tag.Op) error{
		"received": func(e *tag.Endpoint, r *tag.Op) error {
			return e.Receive(r, tag.Criteria{Source: peer(0), Tag: 7}, make([]byte, 100))
		},
		"claimed": func(e *tag.Endpoint, r *tag.Op) error {
			return e.ReceiveHeld(r, e.Claim(everything), make([]byte, 100))
		},
		"into a buffer for many": func(e *tag.Endpoint, r *tag.Op) error {
			return e.ReceiveMany(r, tag.Criteria{Source: peer(0), Tag: 7}, make([]byte, 100), 50)
		},
		"truncated": func(e *tag.Endpoint, r *tag.Op) error { return e.Receive(r, everything, make([]byte, 1)) },
		"discarded": func(e *tag.Endpoint, _ *tag.Op) error {
			e.Discard(e.Claim(everything))
			return nil
		},
		"closed": func(e *tag.Endpoint, _ *tag.Op) error {
			e.Close()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, j job) {
				var s, r tag.Op
				if err := j[0].ep.SendWith(&s, peer(1), 7, localtest.RandomBytes(60), tag.SendOptions{Sync: true}); err != nil {
					t.Fatal(err)
				}
				j.until(t, func() bool { return j[1].stack.Counts().HeldBytes == 60 })
				for range 10 {
					j[0].worker.Progress()
				}
				if s.Done() {
					t.Error("it ended before it was taken")
				}
				if err := take(j[1].ep, &r); err != nil {
					t.Fatal(err)
				}
				j.until(t, s.Done)
				if c := j[0].stack.Counts(); s.Err != nil || c.Eager != 1 || c.Offered != 0 {
					t.Errorf("%v, %+v", s.Err, c)
				}
			})
		})
	}
}

// TestSyncBeyondTheWindow: synchronous messages without room at the receiver are offered, and all
// end.
func TestSyncBeyondTheWindow(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		var sends, receives [20]tag.Op
		for i := range sends {
			if err := j[0].ep.SendWith(&sends[i], peer(1), uint64(i), make([]byte, 5000), tag.SendOptions{Sync: true}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range receives {
			if err := j[1].ep.Receive(&receives[i], tag.Criteria{Source: peer(0), Tag: uint64(i)}, make([]byte, 5000)); err != nil {
				t.Fatal(err)
			}
			j.until(t, func() bool { return sends[i].Done() && receives[i].Done() })
			if sends[i].Err != nil || receives[i].Err != nil {
				t.Error(sends[i].Err, receives[i].Err)
			}
		}
		if c := j[0].stack.Counts(); c.Eager == 0 || c.Narrow == 0 || c.Eager+c.Narrow != 20 {
			t.Errorf("%+v", c)
		}
	})
}
