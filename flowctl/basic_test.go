package flowctl

import "testing"

func TestPerfectWire(t *testing.T) {
	for _, policy := range []Policy{AckNack{}, Credits{Initial: 4, Chunk: 16}} {
		for _, first := range []uint32{0, 1<<32 - 500} {
			p := newPair(t, Seq(first))
			p.c.Policy = policy
			p.s.Queue(1000)
			p.run()
			if len(p.got) != 1000 {
				t.Errorf("%T from %d: %d frames came, want 1000", policy, first, len(p.got))
			}
			if !p.s.Flushed() {
				t.Errorf("%T from %d: not flushed: %+v", policy, first, p.s.Status())
			}
		}
	}
}
