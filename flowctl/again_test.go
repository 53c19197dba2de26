package flowctl

import "testing"

// TestOnlyRefusedFramesAreResent: of a burst those frames were sent before that were refused, and
// no others.
func TestOnlyRefusedFramesAreResent(t *testing.T) {
	c := DefaultConfig()
	var s Sender
	s.Queue(3)
	if b := s.Send(&c, 1, 2); b.Count != 2 || b.Again != 0 {
		t.Fatalf("%+v", b)
	}
	s.OnAnswer(&c, 2, Answer{Kind: Gap, Echo: 2})
	var count Seq
	var again uint32
	for b := s.Send(&c, 3, 3); !b.Empty(); b = s.Send(&c, 3, 3) {
		count, again = count+Seq(b.Count), again+b.Again
		s.OnAnswer(&c, 4, Answer{Kind: Ack, Next: count, Echo: b.Data(b.Count - 1).Tx, Room: 9})
	}
	if count != 3 || again != 2 {
		t.Fatalf("%d frames, %d of them again; the first two were sent before", count, again)
	}
	s.Queue(1)
	if b := s.Send(&c, 5, 3); b.Count != 1 || b.Again != 0 {
		t.Fatalf("%+v", b)
	}
}
