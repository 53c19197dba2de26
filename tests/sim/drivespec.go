package sim

import (
	"encoding/binary"
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
)

// Kind says which contexts run in a world.
type Kind uint8

// The kinds.
const (
	Mixed      Kind = iota // by seed: a share of those with AckNack drive images
	Flow                   // flow control alone
	Drive                  // images, driven
	Switch                 // images of gangs that take turns on nodes with agents and clocks
	Transports             // the same, and ranks have transports in place of messages
)

// creditsShare is the share of the jobs with images whose channels have credits, in permille.
const creditsShare = 300

// driveShare is the share of the worlds with AckNack whose contexts are images, in permille.
const driveShare = 500

// DriveSpec is what a context of package drive is made from, besides Spec.
type DriveSpec struct {
	Seed    uint64 // of the context's own dice
	Base    int    // end of rank 0
	Nodes   []int  // by rank
	Size    int    // longest datagram that the process sends
	Longest int    // longest message
	Short   bool   // most messages are short, many in a datagram
	Lane    int    // bytes of the network's ring
	Send    int    // bytes of the send buffer
	Credits bool   // flow control by credits: each message is one frame

	// Bind is called with the context that was made, if its node has an agent that switches; else
	// nil.
	Bind func(*sharedContext)
}

// NewContext makes the context that the spec is for.
func NewContext(s Spec) Context {
	if s.Drive != nil && s.Drive.Bind != nil {
		return NewSharedContext(s)
	}
	if s.Drive != nil {
		return NewDriveContext(s)
	}
	return NewFlowContext(s)
}

// drives reports whether the contexts of a world are images.
func drives(seed uint64, kind Kind, s *scenario) bool {
	if kind != Mixed {
		return kind == Drive
	}
	_, ackNack := s.flow.Policy.(flowctl.AckNack)
	r := rng{state: ^seed}
	return ackNack && r.chance(driveShare)
}

// drawDrives draws what images need. It has dice of its own, so that a seed without images
// is the same world as ever.
func (w *world) drawDrives(seed uint64) {
	r := rng{state: seed ^ 0xd1ce}
	w.flow.Policy = flowctl.AckNack{}
	size := pick(&r, link.MinDatagram, link.MinDatagram, 700, 1472)
	short := r.chance(300)
	for i := range w.jobs {
		j := &w.jobs[i]
		d := &DriveSpec{Seed: r.next(), Nodes: j.nodes, Size: size, Short: short}
		d.draw(&r)
		j.spec.Flow = &w.flow
		j.spec.drive(d)
	}
}

// draw draws the sizes of messages and buffers.
func (d *DriveSpec) draw(r *rng) {
	d.Longest = r.between(1, 7) * d.frameBytes() / 2
	dice := rng{state: d.Seed ^ 0xc4ed17} // of its own: what else a seed draws stays
	if d.Credits = dice.chance(creditsShare); d.Credits {
		d.Longest = min(d.Longest, abi.MaxCreditMessage)
	}
	lines := uint64(abi.PageBytes / abi.LineBytes)
	for lines < 2*abi.Lines(d.Longest)+1 {
		lines *= 2
	}
	d.Lane = int(lines) * abi.LineBytes << r.below(3)
	for d.Credits && d.Lane/abi.LineBytes <= int(abi.Lines(d.Longest))*len(d.Nodes) {
		d.Lane *= 2 // a place for each of the others
	}
	d.Send = (d.Longest/abi.PageBytes + 1 + r.below(3)) * abi.PageBytes
}

// drive makes the spec one of an image.
func (s *Spec) drive(d *DriveSpec) {
	s.Drive = d
	s.InboxCap = d.Lane/abi.LineBytes - 1 // one line stays empty
	s.SendCap = d.Send / abi.LineBytes
}

// drawSharedSpec draws what the contexts of a gang need, whose ranks are on the nodes given.
func (w *world) drawSharedSpec(r *rng, size, job int, nodes map[int]int) Spec {
	s := drawSpec(r, &w.flow, job, len(nodes))
	d := &DriveSpec{Seed: r.next(), Size: size, Short: r.chance(700)}
	for rank := range len(nodes) {
		d.Nodes = append(d.Nodes, nodes[rank])
	}
	d.draw(r)
	s.drive(d)
	return s
}

// of is the spec of one context.
func (d *DriveSpec) of(first, rank int) *DriveSpec {
	s := *d
	s.Base = first
	s.Seed += uint64(first+rank) * 0x9e3779b97f4a7c15
	return &s
}

// frameBytes is the longest piece of a message.
func (d *DriveSpec) frameBytes() int {
	return d.Size - link.HeadBytes - link.FrameBytes - link.TotalBytes
}

// frames returns how many pieces a message is sent in.
func (d *DriveSpec) frames(length int) uint32 {
	if d.Credits {
		return 1
	}
	return uint32(max(1, (length+d.frameBytes()-1)/d.frameBytes()))
}

// granules is what a message takes of the send buffer.
func granules(length int) int {
	return (length + abi.KeptBytes + abi.LineBytes - 1) / abi.LineBytes
}

// length is how long a message is: sender and receiver know.
func (d *DriveSpec) length(m Message) int {
	r := m.dice()
	longest := d.Longest
	switch {
	case r.chance(100):
		longest = 15
	case d.Short || r.chance(400):
		longest = 100
	}
	return r.between(0, min(longest, d.Longest))
}

// dice are a message's own.
func (m Message) dice() rng {
	return rng{state: m.Index<<32 ^ uint64(m.Job)<<24 ^ uint64(m.Channel)<<20 ^ uint64(m.From)<<10 ^ uint64(m.To)}
}

// bytes writes the message's content into buf: its payload, and then what the dice say.
func (d *DriveSpec) bytes(m Message, buf []byte) []byte {
	n := d.length(m)
	p := m.Payload()
	at := copy(buf[:n], p[:])
	r := m.dice()
	for ; at < n; at += 8 {
		binary.LittleEndian.PutUint64(buf[at:at+8], r.next()) // buf is a word longer than the longest message
	}
	return buf[:n]
}
