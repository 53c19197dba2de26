// Package failuredetector watches a node's neighbours: on a ring of all nodes each watches the next
// ones. It is a machine without I/O: the neighbours' answers and the present instant go in, probes to
// send and reports to the leader come out. The leader confirms a suspicion only if it has lost its
// connection to the node, too.
//
//	m := failuredetector.New()
//	m.Watch(now, []failuredetector.Peer{{Name: "n2", Address: "10.0.0.2:7421"}})
//	for _, e := range m.Tick(now) { ... } // send probes, report to the leader
//	m.Answered(now, "n2", 1)
package failuredetector
