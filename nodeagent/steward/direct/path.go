package direct

import "fmt"

// Path is one steward's direct path to the others of its job.
//
//	known --the peer has received a datagram--> reached --something was not acknowledged--> known
//	known: messages go through the agents, and by a datagram as well
//
// A peer's port is PortOf, unless an agent has brought another.
type Path struct {
	self   uint32
	portOf func(node uint32) uint16
	sealer *sealer
	peers  map[uint32]*peer
}

// peer is another steward.
type peer struct {
	port  uint16 // 0: it has none
	found bool   // an agent has brought it
	// received counts its datagrams that arrived here. acked is how many of ours it has received,
	// as it reported; missed is the value of acked when something did not arrive.
	received, acked, missed uint64
}

// New returns the path of the steward of node self. The key is JobKey's, the salt random. portOf
// returns the port at which a node's steward is expected, see PortOf.
func New(key []byte, self uint32, salt Salt, portOf func(node uint32) uint16) (*Path, error) {
	sealer, err := newSealer(key, self, salt)
	if err != nil {
		return nil, fmt.Errorf("speaking to other nodes: %w", err)
	}
	return &Path{self: self, portOf: portOf, sealer: sealer, peers: make(map[uint32]*peer)}, nil
}

func (r *Path) peer(node uint32) *peer {
	p := r.peers[node]
	if p == nil {
		p = &peer{port: r.portOf(node)}
		r.peers[node] = p
	}
	return p
}

// OnRelayed records the contents of a message through the agents: the sender's port, 0 if it has
// none, and how many of our datagrams it has received. It reports whether to send a probe.
func (r *Path) OnRelayed(node uint32, port uint16, received uint64) (probe bool) {
	p := r.peer(node)
	probe = port != 0 && (!p.found || p.port != port)
	p.port, p.found, p.acked = port, true, max(p.acked, received)
	return probe && !p.reached()
}

// OnDatagram records a datagram of a node, which says how many of ours have arrived there. It
// reports whether to send a probe, which acknowledges this one.
func (r *Path) OnDatagram(node uint32, received uint64) (probe bool) {
	p := r.peer(node)
	p.received++
	p.acked = max(p.acked, received)
	return p.received == 1 && p.port != 0
}

// OnMissed records that something did not arrive at a node. Nothing goes to it by datagrams alone
// until it has acknowledged another one.
func (r *Path) OnMissed(node uint32) {
	p := r.peer(node)
	p.missed = p.acked
}

// Reaches reports whether datagrams arrive at a node.
func (p *Path) Reaches(node uint32) bool { return p.peer(node).reached() }

func (p *peer) reached() bool { return p.port != 0 && p.acked > p.missed }

// Received returns how many of a node's datagrams have arrived here.
func (p *Path) Received(node uint32) uint64 { return p.peer(node).received }

// OwnPort is the port at which the others look for this steward.
func (p *Path) OwnPort() uint16 { return p.portOf(p.self) }

// Port returns a node's port, 0 if it has none.
func (p *Path) Port(node uint32) uint16 { return p.peer(node).port }

// Seal appends the datagram of a packet to a node; its data must have at most MaxData bytes.
func (r *Path) Seal(dst []byte, to uint32, p Packet) []byte {
	p.Received = r.Received(to)
	return r.sealer.seal(dst, to, &p)
}

// Open opens a datagram, in its place. The error is ErrPacket for whatever is not from another
// steward of the job.
func (r *Path) Open(datagram []byte) (p Packet, from uint32, err error) {
	text, from, err := r.sealer.open(r.self, datagram)
	if err != nil {
		return Packet{}, 0, err
	}
	p, err = parse(text)
	return p, from, err
}
