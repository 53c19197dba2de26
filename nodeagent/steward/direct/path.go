package direct

import "fmt"

// Path is one steward's direct path to the other stewards of its job.
//
//	known --the peer has received a datagram--> reached --something was not acknowledged--> known
//	known: messages go through the agents, and by a datagram as well
//
// A peer's port is PortOf, unless a message through the agents has brought another.
type Path struct {
	self   uint32
	portOf func(node uint32) uint16
	sealer *sealer
	peers  map[uint32]*peer
}

// peer is another steward.
type peer struct {
	port  uint16 // 0: it has none
	found bool   // a message through the agents has brought it
	// received counts its datagrams that arrived here. acked is the number of ours that it has
	// reported as received; missed is the value of acked when a message did not arrive.
	received, acked, missed uint64
}

// New returns the path of the steward of node self. The key is from JobKey, the salt random. portOf
// returns the port at which a node's steward is expected, see PortOf.
func New(key []byte, self uint32, salt Salt, portOf func(node uint32) uint16) (*Path, error) {
	sealer, err := newSealer(key, self, salt)
	if err != nil {
		return nil, fmt.Errorf("speaking to other nodes: %w", err)
	}
	return &Path{self: self, portOf: portOf, sealer: sealer, peers: make(map[uint32]*peer)}, nil
}

func (p *Path) peer(node uint32) *peer {
	other := p.peers[node]
	if other == nil {
		other = &peer{port: p.portOf(node)}
		p.peers[node] = other
	}
	return other
}

// OnRelayed records the contents of a message through the agents: the sender's port, 0 if it has
// none, and how many of our datagrams it has received. It reports whether to send a probe.
func (p *Path) OnRelayed(node uint32, port uint16, received uint64) (probe bool) {
	other := p.peer(node)
	probe = port != 0 && (!other.found || other.port != port)
	other.port, other.found, other.acked = port, true, max(other.acked, received)
	return probe && !other.reached()
}

// OnDatagram records a datagram of a node, which carries the number of ours that have arrived
// there. It reports whether to send a probe, which acknowledges this one.
func (p *Path) OnDatagram(node uint32, received uint64) (probe bool) {
	other := p.peer(node)
	other.received++
	other.acked = max(other.acked, received)
	return other.received == 1 && other.port != 0
}

// OnMissed records that a message did not arrive at a node. No message goes to it by a datagram
// alone until it has acknowledged another datagram.
func (p *Path) OnMissed(node uint32) {
	other := p.peer(node)
	other.missed = other.acked
}

// Reaches reports whether datagrams arrive at a node.
func (p *Path) Reaches(node uint32) bool { return p.peer(node).reached() }

func (p *peer) reached() bool { return p.port != 0 && p.acked > p.missed }

// Received returns how many of a node's datagrams have arrived here.
func (p *Path) Received(node uint32) uint64 { return p.peer(node).received }

// OwnPort returns the port at which other stewards look for this one.
func (p *Path) OwnPort() uint16 { return p.portOf(p.self) }

// Port returns a node's port, 0 if it has none.
func (p *Path) Port(node uint32) uint16 { return p.peer(node).port }

// Seal appends the datagram of a packet to a node; its data must have at most MaxData bytes.
func (p *Path) Seal(dst []byte, to uint32, packet Packet) []byte {
	packet.Received = p.Received(to)
	return p.sealer.seal(dst, to, &packet)
}

// Open opens a datagram in place. It returns ErrPacket for a datagram that is not from another
// steward of the job.
func (p *Path) Open(datagram []byte) (packet Packet, from uint32, err error) {
	text, from, err := p.sealer.open(p.self, datagram)
	if err != nil {
		return Packet{}, 0, err
	}
	packet, err = parse(text)
	return packet, from, err
}
