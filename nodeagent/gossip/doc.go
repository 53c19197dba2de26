// Package gossip spreads a failure to all nodes of a job, without a leader: each node informs those
// whose numbers differ from its own by a power of two. These rings of different strides overlap, so
// a failure reaches all nodes though some are dead and messages are lost, in as many hops as the
// number of nodes has bits. It is a machine without I/O: what a node finds or receives goes in,
// messages and failures come out, each failure once.
//
//	m, err := gossip.New(nodes, self)
//	for _, e := range m.Learn(gossip.Item{Kind: gossip.PartLost, Node: self}) { ... } // send
//	for _, e := range m.Receive(from, item) { ... }                                   // send, deliver
package gossip
