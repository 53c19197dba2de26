package sim

import (
	"score/channels/link"
	"score/flowctl"
)

// sendBurst bounds the frames taken from a sender at a time, as a link does.
const sendBurst = 8

// flowContext is a Context whose protocol is flowctl and whose buffers are the
// simplest there are.
type flowContext struct {
	Spec
	peers    []flowPeer
	inbox    []Payload // a ring
	head     int
	held     int    // messages in the ring
	reserved uint32 // places that are one sender's alone
	accepted uint64
	frame    Frame
	buf      [FrameSize]byte
}

// flowPeer is what a context keeps of one rank.
type flowPeer struct {
	send flowctl.Sender
	recv flowctl.Receiver
	ring []Payload // by number of frame
}

// NewFlowContext makes a context of package flowctl alone.
func NewFlowContext(spec Spec) Context {
	c := &flowContext{Spec: spec, peers: make([]flowPeer, spec.Ranks), inbox: make([]Payload, spec.InboxCap)}
	rings := make([]Payload, spec.SendCap*int(spec.Ranks))
	for i := range c.peers {
		p := &c.peers[i]
		p.send.Reset(spec.First)
		p.recv.Reset(spec.First)
		p.ring = rings[i*spec.SendCap:][:spec.SendCap]
		c.reserved += spec.Flow.Policy.Reserved(spec.Flow, &p.recv)
	}
	return c
}

func (c *flowContext) Send(_ int64, to uint16, payload Payload) bool {
	p := &c.peers[to]
	if p.queued() == c.SendCap || p.send.Failed() {
		return false
	}
	p.ring[int(p.send.End())&(c.SendCap-1)] = payload
	p.send.Queue(1)
	return true
}

func (c *flowContext) Receive(now int64) (Payload, bool) {
	if c.held == 0 {
		return Payload{}, false
	}
	payload := c.inbox[c.head]
	c.head = (c.head + 1) % len(c.inbox)
	c.held--
	if c.held > len(c.inbox)/2 {
		return payload, true // refused senders come back for more than a place
	}
	for i := range c.peers {
		if p := &c.peers[i]; p.recv.Waits(c.Flow) {
			p.recv.OnRoom(c.Flow, now, c.room(p))
		}
	}
	return payload, true
}

func (c *flowContext) Input(now int64, _ link.Address, frame []byte) {
	f := &c.frame
	if !f.Decode(frame) || f.Job != c.Job || f.Channel != c.Channel || f.To != c.Rank || f.From >= c.Ranks {
		return
	}
	p := &c.peers[f.From]
	p.send.OnAnswer(c.Flow, now, f.Answer)
	if f.Kind == FrameAnswer {
		return
	}
	before := c.Flow.Policy.Reserved(c.Flow, &p.recv)
	if f.Kind == FrameAsk {
		p.recv.OnAsk(c.Flow, now, f.Data, c.room(p))
	} else if p.recv.OnData(c.Flow, now, f.Data, c.room(p)) == flowctl.Accept {
		c.inbox[(c.head+c.held)%len(c.inbox)] = f.Payload
		c.held++
		c.accepted++
	}
	c.reserved += c.Flow.Policy.Reserved(c.Flow, &p.recv) - before
}

func (c *flowContext) Output(now int64, net Network) {
	for i := range c.peers {
		p := &c.peers[i]
		for p.send.Sendable(c.Flow) {
			b := p.send.Send(c.Flow, now, sendBurst)
			if b.Empty() {
				break
			}
			for j := range max(b.Count, 1) {
				c.transmit(uint16(i), p, b, j, net)
			}
		}
		if p.recv.Due() {
			c.frame = Frame{Kind: FrameAnswer, Answer: c.answer(p)}
			c.put(uint16(i), net, false)
		}
	}
}

// transmit sends frame j of a burst.
func (c *flowContext) transmit(to uint16, p *flowPeer, b flowctl.Burst, j uint32, net Network) {
	c.frame = Frame{Kind: FrameData, Data: b.Data(j), Answer: c.answer(p)}
	if b.Count == 0 {
		c.frame.Kind = FrameAsk
	} else {
		c.frame.Payload = p.ring[int(b.First+flowctl.Seq(j))&(c.SendCap-1)]
	}
	c.put(to, net, true)
}

// answer takes the answer that stands, and keeps count of what it reserves.
func (c *flowContext) answer(p *flowPeer) flowctl.Answer {
	before := c.Flow.Policy.Reserved(c.Flow, &p.recv)
	a := p.recv.Answer(c.Flow, c.room(p))
	c.reserved += c.Flow.Policy.Reserved(c.Flow, &p.recv) - before
	return a
}

// put addresses and sends the present frame.
func (c *flowContext) put(to uint16, net Network, wants bool) {
	c.frame.Job, c.frame.Channel, c.frame.From, c.frame.To = c.Job, c.Channel, c.Rank, to
	c.frame.Encode(&c.buf)
	net.Transmit(to, c.buf[:], wants)
}

// room returns how many messages of a peer the inbox can take.
func (c *flowContext) room(p *flowPeer) uint32 {
	return c.Flow.RoomFor(&p.recv, uint32(len(c.inbox)-c.held), c.reserved)
}

func (c *flowContext) Deadline() int64 {
	at := int64(flowctl.NoDeadline)
	for i := range c.peers {
		at = min(at, c.peers[i].send.Deadline(), c.peers[i].recv.Deadline())
	}
	return at
}

func (c *flowContext) Tick(now int64) {
	for i := range c.peers {
		c.peers[i].send.Tick(c.Flow, now)
		c.peers[i].recv.Tick(c.Flow, now)
	}
}

func (c *flowContext) Flush(now int64) {
	for i := range c.peers {
		c.peers[i].send.Flush(c.Flow, now)
		c.peers[i].recv.Flush()
	}
}

func (c *flowContext) Suspend(now int64) {
	for i := range c.peers {
		c.peers[i].send.Suspend(now)
		c.peers[i].recv.Suspend(now)
	}
}

func (c *flowContext) Resume(now int64) {
	for i := range c.peers {
		c.peers[i].send.Resume(c.Flow, now)
		c.peers[i].recv.Resume(c.Flow, now, c.room(&c.peers[i]))
	}
}

func (c *flowContext) Flushed(to uint16) bool { return c.peers[to].send.Flushed() }

func (c *flowContext) Lost(to uint16) bool { return c.peers[to].send.Failed() }

func (c *flowContext) Settled(to uint16) bool { return c.peers[to].queued() == 0 }

func (c *flowContext) Usage() Usage {
	u := Usage{Inbox: c.held, Ready: c.held > 0, Accepted: c.accepted}
	for i := range c.peers {
		u.Send = max(u.Send, c.peers[i].queued())
		u.InFlight = max(u.InFlight, int(c.peers[i].send.Unacked()))
	}
	return u
}

// Restart, PeerDied, End and Leave mean nothing here: there is no image, and no agent.
func (c *flowContext) Restart(int64)               {}
func (c *flowContext) PeerDied(int64, uint16) bool { return false }
func (c *flowContext) End(int64) bool              { return false }
func (c *flowContext) Leave(int64)                 {}

func (c *flowContext) Check() error { return nil }
func (c *flowContext) Close()       {}

// queued returns the messages of the send buffer.
func (p *flowPeer) queued() int { return int(p.send.End() - p.send.Acked()) }
