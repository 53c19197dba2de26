package tag

import (
	"cmp"
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
	settings.EagerLocal = min(cmp.Or(settings.EagerLocal, maxEager), maxEager)
	settings.EagerRemote = min(cmp.Or(settings.EagerRemote, maxEager), maxEager)
	settings.PoolBytes = cmp.Or(settings.PoolBytes, DefaultPoolBytes)
	settings.SendBytes = cmp.Or(settings.SendBytes, DefaultSendBytes)
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

// spaces of an endpoint
const spaces = 2

// matchers are an endpoint's, by space.
type matchers [spaces]match.Matcher
