package sim

import (
	"encoding/binary"
	"hash/crc32"
	"score/channels/drive"
	"score/channels/link"
	"score/flowctl"
	"testing"
)

// TestPlantedBugsInImages is TestPlantedBugs for contexts that are images with drivers.
func TestPlantedBugsInImages(t *testing.T) {
	const worlds = 300 // each bug is found in a few
	for _, bug := range []struct {
		name  string
		found Invariant
		plant func(Spec, *driveContext) Context
	}{
		{"loses a message", Once, func(_ Spec, c *driveContext) Context { return &loser{Context: c} }},
		{"delivers a message twice", Once, func(_ Spec, c *driveContext) Context { return &doubler{Context: c} }},
		{"takes what is not for it", Apart, func(_ Spec, c *driveContext) Context { return &openHouse{driveContext: c} }},
		{"a driver trusts what it remembers", Whole, func(_ Spec, c *driveContext) Context { return trusting(c) }},
		{"does not look at the checksum", Whole, func(_ Spec, c *driveContext) Context { return &careless{driveContext: c} }},
		{"acknowledges before it delivers", Delivery, func(_ Spec, c *driveContext) Context { return &hurried{driveContext: c} }},
		{"resume forgets a refused peer", Delivery, func(_ Spec, c *driveContext) Context { return &forgetful{driveContext: c} }},
		{"has no timer", Delivery, func(_ Spec, c *driveContext) Context { return timeless{c} }},
		{"does not tell of a dead peer", Delivery, func(_ Spec, c *driveContext) Context { return secretive{c} }},
		{"keeps more than its inbox", Bounded, func(s Spec, c *driveContext) Context { return c.with(s, largerLane) }},
		{"keeps more than its send buffer", Bounded, func(s Spec, c *driveContext) Context { return c.with(s, largerBuffer) }},
		{"sends more than its window", Bounded, func(s Spec, c *driveContext) Context { return c.with(s, largerWindow) }},
		{"does not give back what it reserved", Freed, func(_ Spec, c *driveContext) Context { return &leaky{driveContext: c} }},
		{"calls itself flushed at once", Quiet, func(_ Spec, c *driveContext) Context { return rash{c} }},
		{"accepts while it is away", Resident, func(_ Spec, c *driveContext) Context { return sleepless{c} }},
		{"gives a live peer up", Alive, func(s Spec, c *driveContext) Context { return c.with(s, shortPatience) }},
	} {
		t.Run(bug.name, func(t *testing.T) {
			hunt(t, worlds, bug.found, Options{Kind: Drive, Make: func(s Spec) Context {
				return bug.plant(s, NewDriveContext(s).(*driveContext))
			}})
		})
	}
}

// with makes the context again from other numbers; the world goes by its own.
func (c *driveContext) with(s Spec, change func(*DriveSpec, *flowctl.Config)) Context {
	c.Close()
	d, flow := *s.Drive, *s.Flow
	change(&d, &flow)
	s.Drive, s.Flow = &d, &flow
	return NewDriveContext(s)
}

func largerLane(d *DriveSpec, _ *flowctl.Config)   { d.Lane *= 4 }
func largerBuffer(d *DriveSpec, _ *flowctl.Config) { d.Send *= 4 }
func largerWindow(_ *DriveSpec, c *flowctl.Config) {
	c.InitialWindow, c.MaxWindow = flowctl.MaxWindow, flowctl.MaxWindow
}
func shortPatience(_ *DriveSpec, c *flowctl.Config) { c.FailAfter = 1 }

// trusting lets each driver believe that it was the last one, too.
func trusting(c *driveContext) Context {
	c.before = func(role uint32) { c.img.Follow(role) }
	return c
}

// sign puts a datagram's checksum right.
func sign(data []byte) {
	binary.LittleEndian.PutUint32(data, crc32.Checksum(data[4:], castagnoli))
}

// careless takes each datagram for undamaged.
type careless struct{ *driveContext }

func (c *careless) Input(now int64, from link.Address, frame []byte) {
	sign(frame)
	c.driveContext.Input(now, from, frame)
}

// openHouse takes every datagram for its own, by whomever.
type openHouse struct{ *driveContext }

func (c *openHouse) Input(now int64, from link.Address, frame []byte) {
	h, _, err := link.Parse(frame)
	mine := h.Job == jobKey(c.Job) && h.Channel == uint32(c.Channel) && h.To == uint32(c.Rank)
	if err == nil && !mine && h.Kind == link.Data && h.From < uint32(c.Ranks) {
		binary.LittleEndian.PutUint64(frame[8:], jobKey(c.Job))
		binary.LittleEndian.PutUint32(frame[16:], uint32(c.Channel))
		binary.LittleEndian.PutUint32(frame[24:], uint32(c.Rank))
		sign(frame)
		from = c.addresses[h.From]
	}
	c.driveContext.Input(now, from, frame)
}

// hurried answers each 50th datagram with frames, and then drops it.
type hurried struct {
	*driveContext
	n int
}

func (c *hurried) Input(now int64, from link.Address, frame []byte) {
	h, _, err := link.Parse(frame)
	if err == nil && h.Kind == link.Data && h.To == uint32(c.Rank) && h.Job == jobKey(c.Job) && h.Channel == uint32(c.Channel) {
		if c.n++; c.n%50 == 0 {
			c.acknowledge(from, &h)
			return
		}
	}
	c.driveContext.Input(now, from, frame)
}

func (c *hurried) acknowledge(to link.Address, h *link.Head) {
	answer := link.Head{
		Kind: link.Answer, Job: h.Job, Channel: h.Channel, From: h.To, To: h.From,
		Answer: flowctl.Answer{Kind: flowctl.Ack, Next: h.Data.Seq + flowctl.Seq(h.Frames), Echo: h.Data.Tx + flowctl.Tx(h.Frames) - 1, Room: 1},
	}
	var w link.Writer
	buf := make([]byte, link.HeadBytes)
	w.Begin(buf, len(buf), &answer)
	c.out.add(link.Address{}, to, buf[:w.Finish(0)])
}

// forgetful does not bring back peers that it refused.
type forgetful struct{ *driveContext }

func (c *forgetful) Resume(now int64) {
	for rank := range c.ledger.peers {
		if a := &c.ledger.peers[rank]; a.recv != nil && a.recv.Refusing() == flowctl.Away {
			c.img.SetActive(uint32(rank), false)
		}
	}
	c.driveContext.Resume(now)
}

// leaky reserves some space now and then, and forgets it.
type leaky struct {
	*driveContext
	n int
}

func (c *leaky) Send(now int64, to uint16, p Payload) bool {
	if c.n++; c.n%20 == 0 {
		c.asProcess(func(d *drive.Driver) { _, _, _ = d.Reserve(uint32(to), 0) })
	}
	return c.driveContext.Send(now, to, p)
}
