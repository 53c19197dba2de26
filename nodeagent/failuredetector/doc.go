// Package ring watches a node's neighbours: on a ring of all nodes each watches the
// next ones. It is a machine without I/O: what the neighbours answered and the
// present instant go in, probes to send and words for the leader come out. The
// leader confirms a suspicion only if it does not hear the node either.
//
//	m := ring.New()
//	m.Watch(now, []ring.Peer{{Name: "n2", Address: "10.0.0.2:7421"}})
//	for _, e := range m.Tick(now) { ... } // send probes, tell the leader
//	m.Answered(now, "n2", 1)
package failuredetector
