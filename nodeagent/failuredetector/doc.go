// Package failuredetector decides when a node suspects a neighbour to have failed. All nodes form a
// ring, on which each node watches the next ones. The package is a machine without I/O: its input
// is the neighbours' answers and the time; its output is probes to send and reports to the leader.
// The leader confirms a suspicion only if it has also lost its own connection to the node.
//
//	m := failuredetector.New()
//	m.Watch(now, []failuredetector.Peer{{Name: "n2", Address: "10.0.0.2:7421"}})
//	for _, e := range m.Tick(now) { ... } // send probes, report to the leader
//	m.Answered(now, "n2", 1)
package failuredetector
