// Package gossip spreads a failure to all nodes of a job, without a leader. Each node sends it to
// the nodes at distances of a power of two. These rings of different strides overlap, so a failure
// reaches all nodes even if some are dead and messages are lost. It takes as many hops as the
// number of nodes has bits. The package is a machine without I/O: its input is the failures that a
// node finds or receives; its output is messages to send, and each failure once for this node.
//
//	m, err := gossip.New(nodes, self)
//	for _, e := range m.Learn(gossip.Item{Kind: gossip.PartLost, Node: self}) { ... } // send
//	for _, e := range m.Receive(from, item) { ... }                                   // send, deliver
package gossip
