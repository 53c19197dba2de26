package uct_test

import (
	"score/pm/uct"
	"testing"
)

// pendingSend sends one message when it is its turn.
type pendingSend struct {
	ep  *uct.EP
	arg uint32
}

func (p *pendingSend) Retry() error {
	return p.ep.Send(uct.Header{ID: firstID, Arg: p.arg}, make([]byte, 10_000))
}

func TestPendingKeepsOrder(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		next := uint32(0)
		j[1].iface.Handle(firstID, func(p *uct.Packet) {
			if p.Arg != next {
				t.Fatalf("message %d came as number %d", p.Arg, next)
			}
			next++
		})
		ep := j.ep(t, 0, 1)
		const n = 500
		waited := 0
		for i := range uint32(n) {
			p := &pendingSend{ep, i}
			if p.Retry() != nil {
				ep.Pend(p)
				waited++
			}
		}
		if waited == 0 {
			t.Fatal("nothing had to wait")
		}
		j.until(t, func() bool { return next == n })
	})
}
