// Package exchange is a model of what many nodes' ranks exchange at the start of a job: the real
// code of packages kvpack and fence for all nodes, in virtual time. How long a message takes is
// what was measured of the agents' own way to each other (Costs); each node sends and receives one
// message at a time.
//
// Messages may be lost and repeated, as by a carrier that tries again.
//
//	result, err := exchange.Run(exchange.Config{
//		Nodes: 1000, By: fence.BruckAlgorithm, Pieces: pieces, Costs: costs,
//	})
//	fmt.Println(result.Took, result.Messages)
package exchange
