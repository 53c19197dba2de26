package drive

import (
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
)

// A credit is one message of at most the longest length, which is one frame; it stands for a place
// in the network lane that holds such a message.

const (
	// initialShare is the part of the lane that is divided among all ranks as their first
	// credits; the rest is the pool, for those that talk.
	initialShare = 4
	// maxInitial bounds the first credits: a rank that says little needs no more.
	maxInitial = 16
	// chunkShare is the part of the pool that is granted at a time: as many ranks as that can talk
	// at once with all that they want.
	chunkShare = 8
	// maxChunk bounds it: with the first credits as many frames as fill a wire of 10 Gb/s for
	// 100 us.
	maxChunk = 112
)

// creditsFor returns the credit policy of a channel. It depends only on the size of the job and of
// the lane, which all ends know.
func creditsFor(g abi.Geometry) flowctl.Credits {
	places, others := g.Places(), max(g.Ranks, 2)-1
	initial := min(max(places/initialShare/others, 1), maxInitial)
	pool := places - min(initial*others, places)
	return flowctl.Credits{Initial: uint16(initial), Chunk: uint16(min(max(pool/chunkShare, 1), maxChunk))}
}

// credits is what a driver keeps of a channel with credits. At any time
//
//	sum of the promised places + places that messages occupy <= places of the lane
//
// since only places that are free and not reserved are promised ([flowctl.Config.RoomFor]), and
// each accepted frame takes no more than the place promised for it.
type credits struct {
	place    uint64 // lines of the network lane that a credit stands for
	initial  uint32 // first credits of a rank
	first    uint32 // sum of the first credits of all ranks on other nodes
	reserved uint32 // sum of what flow control calls reserved, over all of them
}

// useFlow makes the driver use the flow control that the image was made for.
func (d *Driver) useFlow() {
	g := d.img.Geometry()
	if g.Flow != abi.FlowCredits {
		d.flow.Policy = flowctl.AckNack{}
		return
	}
	d.flowNumber = link.FlowCredits
	policy := creditsFor(g)
	d.flow.Policy = policy
	d.credit = &credits{
		place: g.PlaceLines(), initial: uint32(policy.Initial),
		first: uint32(policy.Initial) * (g.Ranks - g.LocalRanks),
	}
}

// followCredits takes over what the previous driver has promised. Its count may be wrong if it was
// killed in its section; then repairCredits counts again.
func (d *Driver) followCredits() {
	if d.credit != nil {
		d.credit.reserved = d.credit.first + d.img.Extra()
	}
}

// repairCredits adds up what is reserved for all ranks on other nodes.
func (d *Driver) repairCredits() {
	if d.credit == nil {
		return
	}
	sum := uint32(0)
	for rank := range d.img.Geometry().Ranks {
		if _, r, err := d.img.Flow(rank); err == nil { // else it is on this node
			sum += d.flow.Policy.Reserved(&d.flow, r)
		}
	}
	d.reserve(sum - d.credit.reserved)
}

// reserve adds more to the places that are reserved, modulo 2^32.
func (d *Driver) reserve(more uint32) {
	if more != 0 {
		d.credit.reserved += more
		d.img.SetExtra(d.credit.reserved - d.credit.first)
	}
}

// places returns for how many frames of the peer there is room, promised ones included.
func (d *Driver) places(p *peer) uint32 {
	return d.flow.RoomFor(p.recv, max(d.freePlaces(), d.flow.Policy.Promised(&d.flow, p.recv)), d.credit.reserved)
}

// freePlaces returns how many places are surely free. While no pad lies in the lane, one place is
// kept for it.
func (d *Driver) freePlaces() uint32 {
	free, place := d.in.Free(), d.credit.place
	return uint32((free - min(place, free)) / place)
}

// offersCredits reports whether a peer that has no credits would get one.
func (d *Driver) offersCredits() bool { return d.freePlaces()+d.credit.initial > d.credit.reserved }

// takeData is Receiver.OnData, and counts what becomes of the credits.
func (d *Driver) takeData(p *peer, data flowctl.Data, room uint32) flowctl.Verdict {
	if d.credit == nil {
		return p.recv.OnData(&d.flow, d.now, data, room)
	}
	before := d.flow.Policy.Reserved(&d.flow, p.recv)
	verdict := p.recv.OnData(&d.flow, d.now, data, room)
	d.reserve(d.flow.Policy.Reserved(&d.flow, p.recv) - before)
	return verdict
}

// answer is Receiver.Answer, and counts the credits that it grants.
func (d *Driver) answer(p *peer) flowctl.Answer {
	if d.credit == nil {
		return p.recv.Answer(&d.flow, d.hint(p))
	}
	policy := d.flow.Policy
	reserved, promised := policy.Reserved(&d.flow, p.recv), policy.Promised(&d.flow, p.recv)
	a := p.recv.Answer(&d.flow, d.hint(p))
	d.reserve(policy.Reserved(&d.flow, p.recv) - reserved)
	if granted := policy.Promised(&d.flow, p.recv) - promised; granted != 0 {
		d.img.AddCounter(abi.CreditsGranted, uint64(granted))
	}
	return a
}

// returnCredits gives what is reserved for a peer that is gone back to the pool.
func (d *Driver) returnCredits(p *peer) {
	if d.credit == nil {
		return
	}
	before := d.flow.Policy.Reserved(&d.flow, p.recv)
	p.recv.Fail()
	d.reserve(d.flow.Policy.Reserved(&d.flow, p.recv) - before)
}
