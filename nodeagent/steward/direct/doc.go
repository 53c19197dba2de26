// Package direct lets the stewards of a job speak to each other without their agents: sealed
// datagrams, and whom they reach. It is a machine without I/O: who uses it has the socket.
//
// A datagram is sealed by AES-GCM with a key that only the stewards of one attempt of one job have:
// their agents derive it from the cluster's key. Whatever else comes, from other jobs too, is
// dropped. What a datagram brings must not be counted on: it may be lost, and a repetition of it
// may come. Package post makes up for both, and the agents carry what does not arrive.
//
//	path, err := direct.New(key, node, func(peer uint32) uint16 { return direct.PortOf(key, peer, agentOf(peer)) })
//	path.Found(peer, port)                  // an agent has brought that
//	if path.Reaches(peer) { send(path.Seal(nil, peer, packet)) } else { by the agents, and a copy beside }
//	packet, from, err := path.Open(datagram)
//	if path.Heard(from, packet.Hears) { send a probe, which says so }
package direct
