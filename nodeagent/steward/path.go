package steward

import (
	"crypto/rand"
	"errors"
	"net/netip"
	"score/nodeagent/steward/direct"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/reliable"
	"score/scored/api/scorev1"
	"slices"

	"golang.org/x/sys/unix"
)

// path sends datagrams to the stewards of the job's other nodes.
type path struct {
	*direct.Path
	places []*scorev1.NodePlace
	own    netip.Addr
	socket int // -1: not open
	port   uint16
	closed bool // for good: it could not be opened, or the job is over
	to     map[uint32]unix.Sockaddr
	// out and in hold a datagram each; in has room for one byte more than there may be.
	out [direct.MaxDatagram]byte
	in  [direct.MaxDatagram + 1]byte
}

// newPath returns nil for a job without datagrams.
func newPath(j *job) *path {
	order := j.order.GetJob()
	if len(j.order.GetDirectKey()) == 0 || j.nodes < 2 {
		return nil
	}
	own, ok := hostOf(j.place)
	if !ok {
		return nil
	}
	key, places := j.order.GetDirectKey(), order.GetPlaces()
	var salt direct.Salt
	_, _ = rand.Read(salt[:]) // never fails, see crypto/rand
	sealed, err := direct.New(key, order.GetNodeIndex(), salt, func(node uint32) uint16 {
		if int64(node) >= int64(len(places)) {
			return 0
		}
		return direct.PortOf(key, node, places[node].GetAddress())
	})
	if err != nil {
		return nil
	}
	return &path{Path: sealed, places: places, own: own, socket: -1, to: make(map[uint32]unix.Sockaddr)}
}

// hostOf returns the host of a node's agent if it is a numeric address: resolving a name could take
// long.
func hostOf(place *scorev1.NodePlace) (netip.Addr, bool) {
	at, err := netip.ParseAddrPort(place.GetAddress())
	host := at.Addr().Unmap()
	return host, err == nil && host.Zone() == "" && !host.IsUnspecified()
}

func sockaddr(host netip.Addr, port uint16) unix.Sockaddr {
	if host.Is4() {
		return &unix.SockaddrInet4{Addr: host.As4(), Port: int(port)}
	}
	return &unix.SockaddrInet6{Addr: host.As16(), Port: int(port)}
}

// open makes the socket, on the host's address that other nodes use.
func (p *path) open() (err error) {
	family := unix.AF_INET
	if !p.own.Is4() {
		family = unix.AF_INET6
	}
	if p.socket, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return err
	}
	err = unix.Bind(p.socket, sockaddr(p.own, p.OwnPort()))
	if errors.Is(err, unix.EADDRINUSE) { // then other nodes learn the port through the agents
		err = unix.Bind(p.socket, sockaddr(p.own, 0))
	}
	if err != nil {
		return err
	}
	name, err := unix.Getsockname(p.socket)
	if err != nil {
		return err
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		p.port = uint16(name.Port)
	case *unix.SockaddrInet6:
		p.port = uint16(name.Port)
	}
	return nil
}

// close ends the path for good. Closing the socket also removes it from its loop.
func (p *path) close() {
	loop.CloseFD(p.socket)
	p.socket, p.port, p.closed = -1, 0, true
}

// reaches reports whether a message of this size can go to a steward without the agents.
func (p *path) reaches(job uint64, to reliable.Peer, size int) bool {
	return p != nil && !p.closed && to.Job == job && size <= direct.MaxData && p.Reaches(to.Node)
}

// missed records that a message was not acknowledged.
func (p *path) missed(job uint64, to reliable.Peer) {
	if p != nil && to.Job == job {
		p.OnMissed(to.Node)
	}
}

// send reports whether the kernel took the packet.
func (p *path) send(to uint32, packet direct.Packet) bool {
	at := p.to[to]
	if at == nil {
		host, ok := hostOf(p.places[to])
		if !ok || host.Is4() != p.own.Is4() {
			return false
		}
		at = sockaddr(host, p.Port(to))
		p.to[to] = at
	}
	return unix.Sendto(p.socket, p.Seal(p.out[:0], to, packet), unix.MSG_NOSIGNAL, at) == nil
}

// sendDirect sends a message by a datagram, and reports whether it could.
func (s *steward) sendDirect(m reliable.Message) bool {
	p := s.messages.path
	if !p.reaches(s.job.id, m.To, len(m.Data)) {
		return false
	}
	if p.send(m.To.Node, packetOf(m)) {
		return true
	}
	p.OnMissed(m.To.Node)
	return false
}

func packetOf(m reliable.Message) direct.Packet {
	return direct.Packet{Header: m.Header, Collective: m.Kind == messageCollective, Data: m.Data}
}

// copyDirect sends a datagram with a message that also goes through the agents. If the message is
// too long it sends a probe.
func (s *steward) copyDirect(m reliable.Message) {
	p := s.messages.path
	switch {
	case p == nil || p.closed || p.Port(m.To.Node) == 0:
	case len(m.Data) > direct.MaxData:
		s.probe(m.To.Node)
	default:
		_ = p.send(m.To.Node, packetOf(m)) // if this fails, the agents' copy still arrives
	}
}

// pathTo returns the fields by which a node's steward learns how to reach this one directly: the
// port, 0 for none, and the number of its datagrams received here.
func (s *steward) pathTo(node uint32) (port uint32, received uint64) {
	if !s.openPath() {
		return 0, 0
	}
	return uint32(s.messages.path.port), s.messages.path.Received(node)
}

// openPath opens the socket at its first use, and reports whether there is one.
func (s *steward) openPath() bool {
	p := s.messages.path
	if p == nil || p.closed {
		return false
	}
	if p.socket >= 0 {
		return true
	}
	err := p.open()
	if err == nil {
		err = s.loop.Watch(p.socket, unix.EPOLLIN, loop.Tag{Kind: kindPath})
	}
	if err != nil {
		p.close() // the agents carry all messages
		return false
	}
	return true
}

// updatePath records the fields about the path to a node that a message through the agents carries.
func (s *steward) updatePath(node, port uint32, received uint64) {
	p := s.messages.path
	if int64(node) >= int64(s.job.nodes) || port > 1<<16-1 || !s.openPath() {
		return
	}
	if uint16(port) != p.Port(node) {
		delete(p.to, node)
	}
	if p.OnRelayed(node, uint16(port), received) {
		s.probe(node)
	}
}

// probePaths probes the nodes that send pieces of fences to this one, so that the first fence needs
// no agent. It is called for jobs that will have fences.
func (s *steward) probePaths() {
	if s.messages == nil || s.messages.fences.smallExchange == nil || !s.openPath() {
		return
	}
	for _, node := range s.messages.fences.smallExchange.Neighbours() {
		s.probe(uint32(node))
	}
}

// probe sends a packet that may be lost.
func (s *steward) probe(node uint32) {
	if p := s.messages.path; p.Port(node) != 0 {
		_ = p.send(node, direct.Packet{})
	}
}

// servePath reads once from the socket.
func (s *steward) servePath() {
	if s.messages == nil || s.messages.path == nil || s.messages.path.socket < 0 {
		return
	}
	p := s.messages.path
	n, err := unix.Read(p.socket, p.in[:])
	if err != nil || n > direct.MaxDatagram {
		return
	}
	packet, from, err := p.Open(p.in[:n])
	if err != nil || int64(from) >= int64(s.job.nodes) || from == s.job.order.GetJob().GetNodeIndex() {
		return
	}
	if p.OnDatagram(from, packet.Received) {
		s.probe(from)
	}
	if packet.Stream == 0 {
		return // a probe
	}
	kind, data := messageCollective, packet.Data
	if !packet.Collective {
		kind, data = messageEngine, slices.Clone(packet.Data) // the engine may keep it
	}
	s.take(reliable.Peer{Job: s.job.id, Node: from}, kind, packet.Header, data)
}
