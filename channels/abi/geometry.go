package abi

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrGeometry means that sizes do not make an image.
var ErrGeometry = errors.New("channels: impossible geometry")

// ErrPlaces means that the network lane has no place for a message of each rank on another node,
// which credits need. The errors that wrap it wrap [ErrGeometry], too.
var ErrPlaces = errors.New("too many ranks on other nodes for credits")

// Bounds of a geometry.
const (
	// MaxRanks is what the 24 bits of Shared.Tail can name.
	MaxRanks = 1<<24 - 1
	// MaxLanes keeps one round of polling within a few dozen loads.
	MaxLanes = 64
	// MaxRing keeps a record's length, and an image, within reason.
	MaxRing = 1 << 26
)

// Defaults, chosen by measurement; see ../DESIGN.md.
const (
	// DefaultLanes serves the eight neighbours of a 2-D stencil, and as many again.
	DefaultLanes = 16
	// DefaultLaneBytes holds four of the longest messages and still lies in a
	// second-level cache together with its writer's data.
	DefaultLaneBytes = 256 << 10
	// DefaultNetBytes holds sixteen of the longest messages: with less, sender and receiver
	// of a stream between nodes wait for each other.
	DefaultNetBytes = 1 << 20
	// DefaultSharedBytes serves the senders that say little.
	DefaultSharedBytes = 256 << 10
	// DefaultSendBytes is what a rank may have unanswered on other nodes: two of the
	// receivers' network lanes. What is not used costs nothing.
	DefaultSendBytes = 2 << 20
	// DefaultMaxMessage is the longest message of PM: 64 KiB, and room for the headers of layers
	// above, so that a message of 64 KiB of theirs is one message.
	DefaultMaxMessage = 64<<10 + 256
	// MaxCreditMessage is the longest message of a channel with credits: with its record it is 16
	// lines, and it is one frame on every path of 1,280 bytes, which IPv6 guarantees.
	MaxCreditMessage = 16*LineBytes - RecordBytes
)

// Geometry holds the sizes that a maker chooses.
type Geometry struct {
	Ranks       uint32 // size of the job
	LocalRanks  uint32 // ranks of the job on this node
	Lanes       uint32 // rings with one writer, the network's included
	LaneBytes   uint32 // size of each but the network's, a power of two
	NetBytes    uint32 // size of the network's, a power of two; default: LaneBytes if that is given
	SharedBytes uint32 // size of the ring with many writers, a power of two
	SendBytes   uint32 // size of the send buffer, a multiple of PageBytes
	MaxMessage  uint32 // longest message in bytes
	Flow        uint32 // FlowNack or FlowCredits
}

// WithFlow returns the geometry for a flow control. With credits, messages are short.
func (g Geometry) WithFlow(flow uint32) Geometry {
	g.Flow = flow
	if flow == FlowCredits {
		g.MaxMessage = min(g.MaxMessage, MaxCreditMessage)
	}
	return g
}

// PlaceLines returns how many lines of the network lane a credit stands for: those of the longest
// message.
func (g Geometry) PlaceLines() uint64 { return Lines(int(g.MaxMessage)) }

// Places returns how many of the longest messages the network lane always has room for: one place
// is lost to the pad at its end and to the line that stays empty.
func (g Geometry) Places() uint32 {
	return uint32(uint64(g.NetBytes)/LineBytes/g.PlaceLines()) - 1
}

// WithDefaults fills in what is zero.
func (g Geometry) WithDefaults() Geometry {
	fill := func(field *uint32, value uint32) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&g.NetBytes, g.LaneBytes)
	fill(&g.NetBytes, DefaultNetBytes)
	fill(&g.Lanes, DefaultLanes)
	fill(&g.LaneBytes, DefaultLaneBytes)
	fill(&g.SharedBytes, DefaultSharedBytes)
	fill(&g.SendBytes, DefaultSendBytes)
	if g.Flow == FlowCredits {
		fill(&g.MaxMessage, MaxCreditMessage)
	}
	fill(&g.MaxMessage, DefaultMaxMessage)
	return g
}

// Check says what is wrong with the sizes; the error wraps ErrGeometry.
func (g Geometry) Check() error {
	switch {
	case g.Ranks == 0 || g.Ranks > MaxRanks:
		return fmt.Errorf("%w: %d ranks, want 1 to %d", ErrGeometry, g.Ranks, MaxRanks)
	case g.LocalRanks == 0 || g.LocalRanks > g.Ranks || g.LocalRanks > MaxLocal:
		return fmt.Errorf("%w: %d of %d ranks on one node, want 1 to %d", ErrGeometry, g.LocalRanks, g.Ranks, MaxLocal)
	case g.Lanes == 0 || g.Lanes > MaxLanes:
		return fmt.Errorf("%w: %d lanes, want 1 to %d", ErrGeometry, g.Lanes, MaxLanes)
	case g.MaxMessage == 0:
		return fmt.Errorf("%w: no message fits into a longest message of 0 bytes", ErrGeometry)
	case !ringFits(g.LaneBytes, g.MaxMessage):
		return fmt.Errorf("%w: lanes of %d bytes for messages of %d", ErrGeometry, g.LaneBytes, g.MaxMessage)
	case !ringFits(g.NetBytes, g.MaxMessage):
		return fmt.Errorf("%w: network lane of %d bytes for messages of %d", ErrGeometry, g.NetBytes, g.MaxMessage)
	case !ringFits(g.SharedBytes, g.MaxMessage):
		return fmt.Errorf("%w: shared ring of %d bytes for messages of %d", ErrGeometry, g.SharedBytes, g.MaxMessage)
	case g.SendBytes%PageBytes != 0 || g.SendBytes > MaxRing || uint64(g.SendBytes) < uint64(g.MaxMessage)+KeptBytes:
		return fmt.Errorf("%w: send buffer of %d bytes for messages of %d", ErrGeometry, g.SendBytes, g.MaxMessage)
	}
	return g.checkFlow()
}

// checkFlow checks what the flow control needs.
func (g Geometry) checkFlow() error {
	remote := g.Ranks - g.LocalRanks
	switch {
	case g.Flow == FlowNack:
		return nil
	case g.Flow != FlowCredits:
		return fmt.Errorf("%w: flow control %d", ErrGeometry, g.Flow)
	case g.MaxMessage > MaxCreditMessage:
		return fmt.Errorf("%w: messages of %d bytes with credits, want at most %d", ErrGeometry, g.MaxMessage, MaxCreditMessage)
	case g.Places() < remote:
		return fmt.Errorf("%w: %w: a network lane of %d bytes has places for %d of %d", ErrGeometry, ErrPlaces, g.NetBytes, g.Places(), remote)
	}
	return nil
}

// ringFits reports whether a message of the greatest length always gets through
// the ring: with a pad as long as itself before it, and the empty line after it.
func ringFits(ring, message uint32) bool {
	if bits.OnesCount32(ring) != 1 || ring < PageBytes || ring > MaxRing || message > MaxRing {
		return false
	}
	return 2*Lines(int(message))+1 <= uint64(ring)/LineBytes
}

// Layout says where everything is. Offsets are bytes from the image's start.
type Layout struct {
	Geometry
	Status, Lock, Owners, Waiters   uint64
	Counters, LaneControl           uint64
	SharedControl, Local            uint64
	Active                          uint64
	Peers, Arrivals, Granules, Send uint64
	SharedRing, NetRing, LaneRings  uint64
	Total                           uint64
}

// fixed parts, all in the first page
const (
	statusAt  = 512
	lockAt    = statusAt + 64
	ownersAt  = lockAt + 64
	waitersAt = ownersAt + 2*64
	sharedAt  = waitersAt + 128
)

// Layout computes the offsets, or says what is wrong with the sizes.
func (g Geometry) Layout() (Layout, error) {
	if err := g.Check(); err != nil {
		return Layout{}, err
	}
	l := Layout{Geometry: g, Status: statusAt, Lock: lockAt, Owners: ownersAt, Waiters: waitersAt, SharedControl: sharedAt}
	at := uint64(PageBytes)
	region := func(size uint64) uint64 {
		here := at
		at += (size + PageBytes - 1) &^ (PageBytes - 1)
		return here
	}
	l.Counters = region(uint64(len(Counters)) * 8)
	l.LaneControl = region(uint64(g.Lanes) * 128)
	l.Local = region(uint64(g.LocalRanks) * 4)
	l.Granules = region(uint64(g.SendBytes) / LineBytes / 8)
	l.Active = region((uint64(g.Ranks) + 63) / 64 * 8)
	l.SharedRing = region(uint64(g.SharedBytes))
	l.Peers = region(uint64(g.Ranks) * PeerBytes)
	l.Arrivals = region(uint64(g.Ranks) * ArrivalBytes)
	l.Send = region(uint64(g.SendBytes))
	l.NetRing = region(uint64(g.NetBytes))
	l.LaneRings = region(uint64(g.Lanes) * uint64(g.LaneBytes))
	l.Total = at
	return l, nil
}

// Peer is where the rank's entry of the peer table is.
func (l *Layout) Peer(rank uint32) uint64 { return l.Peers + uint64(rank)*PeerBytes }

// Arrival is where the rank's Arrival entry is.
func (l *Layout) Arrival(rank uint32) uint64 { return l.Arrivals + uint64(rank)*ArrivalBytes }

// Lane is where a lane's control is.
func (l *Layout) Lane(lane uint32) uint64 { return l.LaneControl + uint64(lane)*128 }

// LaneRing is where a lane's ring is.
func (l *Layout) LaneRing(lane uint32) uint64 {
	if lane == 0 {
		return l.NetRing
	}
	return l.LaneRings + uint64(lane)*uint64(l.LaneBytes)
}

// Fixed is the length of the leading part that every context touches: it is
// allocated when the image is made, the rest when it is first used.
func (l *Layout) Fixed() uint64 { return l.Peers }

// Header makes the header of an image with this layout.
func (l *Layout) Header(job uint64, rank, channel uint32) Header {
	return Header{
		Magic: Magic, Version: Version, HeaderBytes: HeaderBytes, TotalBytes: l.Total,
		Job: job, Rank: rank, Ranks: l.Ranks, Channel: channel, LocalRanks: l.LocalRanks,
		Lanes: l.Lanes, LaneBytes: l.LaneBytes, NetBytes: l.NetBytes, SharedBytes: l.SharedBytes, SendBytes: l.SendBytes,
		MaxMessage: l.MaxMessage, Flow: l.Flow,
		StatusAt: l.Status, LockAt: l.Lock, OwnersAt: l.Owners, WaitersAt: l.Waiters,
		CountersAt: l.Counters, LanesAt: l.LaneControl, SharedAt: l.SharedControl, LocalAt: l.Local,
		ActiveAt: l.Active, PeersAt: l.Peers, ArrivalsAt: l.Arrivals, GranulesAt: l.Granules, SendAt: l.Send,
		SharedRing: l.SharedRing, NetRing: l.NetRing, LaneRings: l.LaneRings,
	}
}

// Errors of a header.
var (
	ErrMagic   = errors.New("channels: this is no context image")
	ErrVersion = errors.New("channels: context image of another version; program and daemons must be built from the same release")
	ErrHeader  = errors.New("channels: damaged context image")
)

// Check takes a copy of a header and the size of the memory it came from. It
// returns the layout if every word is what a maker would have written.
func (h Header) Check(size uint64) (Layout, error) {
	if h.Magic != Magic {
		return Layout{}, ErrMagic
	}
	if h.Version != Version {
		return Layout{}, fmt.Errorf("%w: version %d, this program knows %d", ErrVersion, h.Version, Version)
	}
	g := Geometry{
		Ranks: h.Ranks, LocalRanks: h.LocalRanks, Lanes: h.Lanes, LaneBytes: h.LaneBytes, NetBytes: h.NetBytes,
		SharedBytes: h.SharedBytes, SendBytes: h.SendBytes, MaxMessage: h.MaxMessage, Flow: h.Flow,
	}
	l, err := g.Layout()
	if err != nil {
		return Layout{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	if h != l.Header(h.Job, h.Rank, h.Channel) || h.TotalBytes != size || h.Job == 0 || h.Rank >= h.Ranks {
		return Layout{}, ErrHeader
	}
	return l, nil
}
