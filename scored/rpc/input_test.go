package rpc

import (
	"context"
	"errors"
	"score/scored/api/scorev1"
	"testing"
)

// The ranks may have more input than this attachment has brought, if the client got no
// acknowledgement of what an earlier one had brought. It gets one though it brings nothing new.
func TestInputAcknowledgedEarlier(t *testing.T) {
	in := newInputs()
	r := in.reader(true)
	if got := in.taken(); got != 0 {
		t.Errorf("%d are taken before anything was said", got)
	}
	r.onTaken(1000)
	select {
	case <-in.changed:
	default:
		t.Error("there is no signal")
	}
	if got := in.taken(); got != 1000 {
		t.Errorf("%d are taken, want 1000", got)
	}
	r.onSent(&scorev1.Stdin{Offset: new(uint64), Data: make([]byte, 500)})
	if got := in.taken(); got != 1000 || r.inFlight() {
		t.Errorf("%d are taken, on its way: %v", got, r.inFlight())
	}
}

// The slowest reader counts, unless its source has ended. Without any reader, all input counts as
// taken.
func TestSlowestReaderCounts(t *testing.T) {
	in := newInputs()
	slow, fast := in.reader(true), in.reader(true)
	ctx, cancel := context.WithCancel(t.Context())
	carried := make(chan struct{})
	go func() {
		defer close(carried)
		in.distribute(ctx, []*reader{slow, fast})
	}()
	in.input <- &scorev1.Stdin{Offset: new(uint64), Data: make([]byte, 10)}
	for _, r := range []*reader{slow, fast} {
		r.onTaken(0)
		r.onSent(<-r.input)
	}
	fast.onTaken(10)
	if got := in.taken(); got != 0 || !slow.inFlight() || fast.inFlight() {
		t.Errorf("%d are taken", got)
	}
	close(slow.over)
	if got := in.taken(); got != 10 {
		t.Errorf("%d are taken once the slow one has ended", got)
	}
	close(fast.over)
	cancel()
	<-carried
	if got := in.taken(); got != 10 {
		t.Errorf("%d are taken without readers", got)
	}
	if next := in.reader(true); next.inFlight() || in.taken() != 10 {
		t.Error("the next attempt begins with what is left")
	}
}

// Input that was on its way to an agent which was lost is not acknowledged, though its source has
// ended: the client must send it again.
func TestLostInputIsNotAcknowledged(t *testing.T) {
	in := newInputs()
	r := in.reader(true)
	input := &scorev1.Stdin{Offset: new(uint64), Data: make([]byte, 10)}
	in.note(input)
	r.onSent(input)
	if offset, err := in.acknowledgeable(); offset != 0 || err != nil {
		t.Errorf("on its way: %d, %v", offset, err)
	}
	if !r.inFlight() {
		t.Fatal("nothing is on its way")
	}
	in.lose()
	close(r.over)
	if offset, err := in.acknowledgeable(); !errors.Is(err, errInputLost) {
		t.Errorf("lost: %d is acknowledged, %v", offset, err)
	}
}
