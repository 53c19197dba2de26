package tag

import (
	"score/pm"
	"score/pm/tag/match"
	"score/pm/uct"
	"score/pm/uct/handles"
)

// Ports is the largest number of endpoints of a stack: OpenSHMEM takes one for each context.
const Ports = 128

const (
	// DefaultPoolBytes is what all windows together may grow by.
	DefaultPoolBytes = 64 << 20
	// DefaultSendBytes bounds the copies of messages that were not received yet: those of a million
	// short ones, fewer than maxOffers.
	DefaultSendBytes = 256 << 20
	// copyBytes is what a copy costs beside its bytes, at least.
	copyBytes = 256
)

// Settings of a stack. Zero means the default.
type Settings struct {
	// EagerLocal and EagerRemote are the longest eager messages inside a node and between nodes, in
	// bytes. The default of both is the longest that the channel carries: at 64 KiB a rendezvous
	// takes 10 per cent longer inside a node, and between nodes twice as long.
	EagerLocal, EagerRemote int
	PoolBytes               int // bytes that unexpected messages may take beyond 16 KiB of each peer
	SendBytes               int // bytes of copies that may wait, copyBytes more for each
}

// Stack holds the endpoints of an interface. It belongs to the goroutine of the interface's worker.
type Stack struct {
	iface    *uct.Iface
	md       *uct.MD
	settings Settings
	ports    [Ports]*Endpoint
	peers    []*peer           // by rank; nil before the first message
	sends    handles.Table[Op] // whose ends receivers tell
	pool     pool
	untaken  int // of the sends: those whose receivers have the bytes
	copies   int // bytes of copies that wait to be sent

	spareOps      *Op
	spareHeld     *Held
	spareControls *control
	counts        Counts
}

// Counts are totals of a stack.
type Counts struct {
	Eager, Offered       uint64 // messages sent
	Narrow               uint64 // of those offered, which would have been eager, had there been room
	Beyond               uint64 // short messages sent beyond the window, with their bytes
	Expected, Unexpected uint64 // messages received, with and without a receive that waited
	HeldBytes            int    // bytes of unexpected messages that are kept now
}

// NewStack makes a stack over an interface, whose identifiers from uct.FirstID on it takes, and its
// memory domain.
func NewStack(iface *uct.Iface, md *uct.MD, settings Settings) *Stack {
	attr := iface.Attr()
	maxEager := attr.MaxMessage - eagerHead - dataHead - syncHead
	fill := func(value *int, standard int) {
		if *value == 0 {
			*value = standard
		}
	}
	fill(&settings.EagerLocal, maxEager)
	fill(&settings.EagerRemote, maxEager)
	fill(&settings.PoolBytes, DefaultPoolBytes)
	fill(&settings.SendBytes, DefaultSendBytes)
	settings.EagerLocal, settings.EagerRemote = min(settings.EagerLocal, maxEager), min(settings.EagerRemote, maxEager)
	s := &Stack{iface: iface, md: md, settings: settings, peers: make([]*peer, attr.Ranks)}
	s.pool.left = uint32(settings.PoolBytes / Unit)
	iface.Handle(idEager, s.onEager)
	iface.Handle(idOffer, s.onOffer)
	iface.Handle(idTaken, s.onTaken)
	iface.Handle(idWindow, s.onWindow)
	iface.HandleGone(s.onGone)
	iface.Channel().Count(s.report)
	return s
}

// report adds the counts to those that the channel publishes.
func (s *Stack) report(c *pm.StackCounts) {
	c.Rendezvous += s.counts.Offered
	c.RendezvousOpen += uint64(s.sends.Len() - s.untaken)
	c.Unexpected += uint64(s.counts.HeldBytes)
}

// Counts returns the totals.
func (s *Stack) Counts() Counts { return s.counts }

// Open makes the endpoint of a port, 0 to Ports-1. Messages that came for it before it was first
// opened are there. The error is ErrPort.
func (s *Stack) Open(port int) (*Endpoint, error) {
	if port < 0 || port >= Ports || s.ports[port] != nil && s.ports[port].open {
		return nil, ErrPort
	}
	e := s.endpoint(uint8(port))
	if e.closed {
		e = s.newEndpoint(uint8(port)) // who has the closed one keeps that
	}
	e.open = true
	return e, nil
}

// endpoint returns the endpoint of a port; nil if there is no such port.
func (s *Stack) endpoint(port uint8) *Endpoint {
	if port < Ports && s.ports[port] != nil {
		return s.ports[port]
	}
	return s.newEndpoint(port)
}

func (s *Stack) newEndpoint(port uint8) *Endpoint {
	if port >= Ports {
		return nil
	}
	e := &Endpoint{stack: s, port: port}
	s.ports[port] = e
	return e
}

// peer is the stack's state of a rank.
type peer struct {
	ep     *uct.EP
	eager  int // bytes of the longest eager message
	credit credit
	window window
	offers int // offers, and messages beyond the window, that wait here or are being fetched
	// Bytes of messages beyond the window longer than shortBeyond: sent and not taken yet, and kept.
	beyondSent, beyondKept int

	saying bool // a window update waits to be sent
	gone   bool // nothing more comes
}

func (s *Stack) peer(rank int) (*peer, error) {
	if uint(rank) < uint(len(s.peers)) && s.peers[rank] != nil {
		return s.peers[rank], nil
	}
	return s.newPeer(rank)
}

func (s *Stack) newPeer(rank int) (*peer, error) {
	ep, err := s.iface.EP(rank)
	if err != nil {
		return nil, err
	}
	for rank >= len(s.peers) {
		s.peers = append(s.peers, nil) // of another job
	}
	p := &peer{ep: ep, eager: s.settings.EagerRemote}
	if ep.Local() {
		p.eager = s.settings.EagerLocal
	}
	p.credit.limit = minWindow
	p.window = window{size: minWindow, announced: minWindow}
	s.peers[rank] = p
	return p, nil
}

// from is the peer of a packet.
func (s *Stack) from(p *uct.Packet) *peer {
	peer, _ := s.peer(p.Source) // uct knows the rank
	return peer
}

// freed records that bytes of a peer are not kept any more, and updates its window when it is time.
func (s *Stack) freed(p *peer, units uint32) {
	p.window.free(units)
	if p.gone || p.window.due() {
		s.onFreed(p)
	}
}

// onFreed reports a wide window to its peer, or gives the window of a lost peer back.
func (s *Stack) onFreed(p *peer) {
	if p.gone {
		s.narrow(p)
		return
	}
	s.announceWindow(p)
}

// narrow returns a lost peer's window to the pool, but for the minimum, once nothing of the peer is
// kept any more: the bytes count until then.
func (s *Stack) narrow(p *peer) {
	if p.window.arrived == p.window.freed {
		s.pool.narrow(&p.window)
	}
}

// announceWindow sends the window to a peer, or queues that if there is no room now.
func (s *Stack) announceWindow(p *peer) {
	if p.saying || p.ep.Err() != nil {
		return
	}
	if s.sendWindow(p) == uct.ErrAgain { //nolint:errorlint // this very value
		p.saying = true
		s.control(p, controlWindow, 0, 0)
	}
}

func (s *Stack) sendWindow(p *peer) error {
	err := p.ep.Send(uct.Header{ID: idWindow, Arg: p.window.limit()}, nil)
	if err == nil {
		p.window.announced = p.window.limit()
	}
	return err
}

func (s *Stack) onWindow(p *uct.Packet) { s.from(p).credit.onLimit(p.Arg) }

// onGone ends what waits for a peer that was lost.
func (s *Stack) onGone(ep *uct.EP, err error) {
	if p, _ := s.peer(ep.Rank()); p != nil { // known from now on, so that receives from it fail
		p.gone = true
		s.narrow(p)
	}
	s.sends.Each(func(o *Op) {
		if int(o.peer.Rank) == ep.Rank() {
			s.endAwaited(o, err)
		}
	})
	for _, e := range s.ports {
		if e != nil {
			e.onGone(uint32(ep.Rank()), err)
		}
	}
}

// control is a short message that waits for resources.
type control struct {
	stack *Stack
	peer  *peer
	what  controlKind
	arg   uint32
	bits  uint8
	next  *control
}

type controlKind uint8

const (
	controlWindow controlKind = iota
	controlTaken
)

func (s *Stack) control(p *peer, what controlKind, arg uint32, bits uint8) {
	c := s.spareControls
	if c == nil {
		c = &control{stack: s}
	} else {
		s.spareControls = c.next
	}
	c.peer, c.what, c.arg, c.bits = p, what, arg, bits
	p.ep.Pend(c)
}

// Retry sends it.
func (c *control) Retry() error {
	s, p := c.stack, c.peer
	var err error
	switch c.what {
	case controlWindow:
		err = s.sendWindow(p)
		p.saying = err == uct.ErrAgain //nolint:errorlint // this very value
	case controlTaken:
		err = p.ep.Send(uct.Header{ID: idTaken, Bits: c.bits, Arg: c.arg}, nil)
	}
	if err != uct.ErrAgain { //nolint:errorlint // this very value
		*c = control{stack: s, next: s.spareControls}
		s.spareControls = c
	}
	return err
}

// spaces of an endpoint
const spaces = 2

// matchers are an endpoint's, by space.
type matchers [spaces]match.Matcher
