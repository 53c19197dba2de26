// Package direct lets the stewards of a job exchange messages without their agents: it seals and
// opens datagrams, and decides which nodes they reach. It is a machine without I/O; its caller has
// the socket. A fence of small pieces takes a seventh to a twelfth of the time that it takes
// through the agents, and a tenth of their CPU time (docs/BENCHMARKS.md).
//
// AES-GCM seals a datagram with a key that only the stewards of one attempt of one job have: their
// agents derive it from the cluster's key. All other datagrams, including those of other jobs, are
// dropped. A datagram may be lost or come twice. Package reliable handles both, and messages that
// do not arrive go through the agents.
//
//	portOf := func(peer uint32) uint16 { return direct.PortOf(key, peer, agentOf(peer)) }
//	path, err := direct.New(key, node, salt, portOf)
//	path.OnRelayed(peer, port, received)    // a message through the agents has brought these
//	if path.Reaches(peer) {
//		send(path.Seal(nil, peer, packet)) // else through the agents, and a copy directly
//	}
//	packet, from, err := path.Open(datagram)
//	if path.OnDatagram(from, packet.Received) { send a probe, which acknowledges it }
package direct
