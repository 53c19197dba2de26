// Package node is the part of the data plane that belongs to a whole node: it makes the contexts of
// the node's ranks and their sockets, hands them out, answers where they are (the directory),
// announces deaths, and drives the contexts whose process does not.
//
// The node's agent has one Node; pm/local has one for each node that it plays. The package
// knows jobs by their keys, and neither users nor scheduling.
//
//	n, err := node.Open(node.Config{Address: netip.MustParseAddrPort("10.0.0.1:7118")})
//	job, err := n.Add(node.JobConfig{Key: key, Places: where})
//	err = job.Serve(conn, rank)  // for each rank that connects
//	job.Ended(rank)              // for each process that ended
//	err = job.Remove(linger)
//
// DESIGN.md has the picture of when the agent drives, with the reasons.
package node
