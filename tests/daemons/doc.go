// Package daemons runs a cluster for tests as a site does: one `scored server` and a
// `scored agent` for each node, on loopback, each a process that can be stopped, killed
// and started again by itself. (Package devcluster runs `scored dev`, which does that
// for its user.) It also finds what a cluster has left behind.
//
//	c, err := daemons.Start(ctx, daemons.Options{Bin: dir, Dir: work, Nodes: 3})
//	...
//	defer c.Stop()
//	c.Agent("n1").Kill()
//	err = c.Agent("n1").Start()
package daemons
