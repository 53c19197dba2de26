package sim

import (
	"errors"
	"score/channels/link"
	"score/flowctl"
	"testing"
)

// TestPlantedBugs is the test of the tester: for each invariant contexts that
// break it, and worlds that must find out.
func TestPlantedBugs(t *testing.T) {
	const worlds = 300 // each bug is found in a few
	for _, bug := range []struct {
		name  string
		found Invariant
		plant func(Spec, Context) Context
	}{
		{"loses a message", Once, func(_ Spec, c Context) Context { return &loser{Context: c} }},
		{"delivers a message twice", Once, func(_ Spec, c Context) Context { return &doubler{Context: c} }},
		{"swaps two messages", Once, func(_ Spec, c Context) Context { return &swapper{Context: c} }},
		{"accepts what follows a refused frame", Once, func(s Spec, c Context) Context { return &hasty{Context: c, spec: s} }},
		{"takes what is not for it", Apart, func(s Spec, c Context) Context { return &promiscuous{Context: c, spec: s} }},
		{"keeps more than its inbox", Bounded, func(s Spec, _ Context) Context { return roomy(s) }},
		{"sends more than its window", Bounded, func(s Spec, _ Context) Context { return windowless(s) }},
		{"has no timer", Delivery, func(_ Spec, c Context) Context { return timeless{c} }},
		{"does not tell of a dead peer", Delivery, func(_ Spec, c Context) Context { return secretive{c} }},
		{"calls itself flushed at once", Quiet, func(_ Spec, c Context) Context { return rash{c} }},
		{"counts any answer as the last", Quiet, func(s Spec, c Context) Context { return &gullible{Context: c, spec: s} }},
		{"accepts while it is away", Resident, func(_ Spec, c Context) Context { return sleepless{c} }},
		{"gives a live peer up", Alive, func(s Spec, _ Context) Context { return nervous(s) }},
	} {
		t.Run(bug.name, func(t *testing.T) {
			hunt(t, worlds, bug.found, Options{Kind: Flow, Make: func(s Spec) Context { return bug.plant(s, NewFlowContext(s)) }})
		})
	}
}

// hunt runs worlds until one finds that the invariant does not hold.
func hunt(t *testing.T, worlds uint64, found Invariant, opt Options) {
	t.Helper()
	for seed := uint64(1); seed <= worlds; seed++ {
		r := Run(seed, opt)
		var v *Violation
		if !errors.As(r.Err, &v) || v.Invariant != found {
			continue // a bug may break something else first
		}
		t.Logf("seed %d: %v", seed, r.Err)
		return
	}
	t.Errorf("not found in %d worlds", worlds)
}

// loser drops each hundredth message.
type loser struct {
	Context
	n int
}

func (c *loser) Receive(now int64) (Payload, bool) {
	if c.n++; c.n%100 == 0 {
		c.Context.Receive(now)
	}
	return c.Context.Receive(now)
}

// doubler delivers each hundredth message twice.
type doubler struct {
	Context
	n    int
	last Payload
}

func (c *doubler) Receive(now int64) (Payload, bool) {
	if c.n++; c.n%100 == 0 && c.last != (Payload{}) {
		return c.last, true
	}
	p, ok := c.Context.Receive(now)
	if ok {
		c.last = p
	}
	return p, ok
}

// swapper gives away each hundredth message after the one that follows it.
type swapper struct {
	Context
	n    int
	kept []Payload
}

func (c *swapper) Receive(now int64) (Payload, bool) {
	p, ok := c.Context.Receive(now)
	if !ok {
		if len(c.kept) == 0 {
			return p, false
		}
		p, c.kept = c.kept[0], nil
		return p, true
	}
	if c.n++; c.n%100 == 0 && c.kept == nil {
		c.kept = []Payload{p}
		return c.Context.Receive(now)
	}
	return p, true
}

// hasty takes a data frame that follows a refused one for the refused one.
type hasty struct {
	Context
	spec Spec
	next [maxRanks]flowctl.Seq
	seen [maxRanks]bool
}

func (c *hasty) Input(now int64, from link.Address, frame []byte) {
	var f Frame
	if !f.Decode(frame) || f.Kind != FrameData {
		c.Context.Input(now, from, frame)
		return
	}
	if !c.seen[f.From] {
		c.seen[f.From], c.next[f.From] = true, c.spec.First
	}
	if c.next[f.From].Before(f.Data.Seq) {
		f.Data.Seq = c.next[f.From]
	}
	before := c.Usage().Accepted
	c.Context.Input(now, from, encoded(&f))
	if c.Usage().Accepted != before {
		c.next[f.From] = f.Data.Seq + 1
	}
}

// promiscuous takes every message for its own.
type promiscuous struct {
	Context
	spec Spec
}

func (c *promiscuous) Input(now int64, from link.Address, frame []byte) {
	var f Frame
	if f.Decode(frame) && f.Kind == FrameData && (f.Job != c.spec.Job || f.Channel != c.spec.Channel || f.To != c.spec.Rank) {
		f.Job, f.Channel, f.To = c.spec.Job, c.spec.Channel, c.spec.Rank
		f.Answer = flowctl.Answer{Kind: flowctl.Away, Echo: f.Data.Tx} // which means nothing to this sender
		frame = encoded(&f)
	}
	c.Context.Input(now, from, frame)
}

// roomy has an inbox of twice the size.
func roomy(s Spec) Context {
	s.InboxCap *= 2
	return NewFlowContext(s)
}

// windowless has a window of the protocol's own bound.
func windowless(s Spec) Context {
	flow := *s.Flow
	flow.InitialWindow, flow.MaxWindow = flowctl.MaxWindow, flowctl.MaxWindow
	s.Flow = &flow
	return NewFlowContext(s)
}

// timeless waits for nothing.
type timeless struct{ Context }

func (timeless) Deadline() int64 { return flowctl.NoDeadline }
func (timeless) Tick(int64)      {}

// secretive never says that a peer is gone.
type secretive struct{ Context }

func (secretive) Lost(uint16) bool { return false }

// rash means that nothing is in flight.
type rash struct{ Context }

func (rash) Flushed(uint16) bool { return true }

// gullible takes each answer for one to the newest transmission.
type gullible struct {
	Context
	spec Spec
	tx   [maxRanks]flowctl.Tx
	net  Network
}

func (c *gullible) Output(now int64, net Network) {
	c.net = net
	c.Context.Output(now, c)
}

func (c *gullible) Transmit(to uint16, frame []byte, wants bool) {
	var f Frame
	if f.Decode(frame) && wants {
		c.tx[to] = f.Data.Tx
	}
	c.net.Transmit(to, frame, wants)
}

func (c *gullible) Lookup(to uint16, frame []byte) { c.net.Lookup(to, frame) }

func (c *gullible) Input(now int64, from link.Address, frame []byte) {
	var f Frame
	if !f.Decode(frame) {
		return
	}
	if f.Kind == FrameAnswer {
		f.Answer.Echo = c.tx[f.From]
	}
	c.Context.Input(now, from, encoded(&f))
}

// sleepless is resident all the time.
type sleepless struct{ Context }

func (sleepless) Suspend(int64) {}

// nervous gives a peer up that is silent for a moment.
func nervous(s Spec) Context {
	flow := *s.Flow
	flow.FailAfter = 1
	s.Flow = &flow
	return NewFlowContext(s)
}

// encoded returns the bytes of a frame.
func encoded(f *Frame) []byte {
	var b [FrameSize]byte
	f.Encode(&b)
	return b[:]
}
