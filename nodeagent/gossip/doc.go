// Package news spreads word of a failure to all nodes of a job, without a leader:
// each node tells those whose numbers differ from its own by a power of two. These
// rings of different strides overlap, so the word gets around though nodes are dead
// and messages lost, in as many hops as the number of nodes has bits. It is a machine
// without I/O: what a node finds or hears goes in, messages and news come out, each
// news once.
//
//	m, err := news.New(nodes, self)
//	for _, e := range m.Learn(news.Item{Kind: news.PartLost, Node: self}) { ... } // send
//	for _, e := range m.Receive(from, item) { ... }                              // send, deliver
package gossip
