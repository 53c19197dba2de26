// Package stewardpool keeps the stewards of a node: a few that are warm, so that a job finds its
// process and its control group ready, and those that have a job, until nothing of it is left.
//
// New ones are started while no job is being launched, which they would delay. The pool knows no more
// of jobs; the caller sends a steward's orders and gets its messages.
//
//	pool, err := stewardpool.Open(stewardpool.Options{Exe: exe, RunDir: dir, Cluster: "lab", Node: "n1"})
//	go pool.Run(ctx)                      // keeps some warm
//	steward, err := pool.Claim(ctx, uid, false, client.Events{Message: ..., Closed: ...})
//	err = steward.Prepare(order)          // its methods are those of client.Conn
//	...
//	pool.Retire(ctx, steward, reading)    // waits for the user's next job, or is removed
//	...
//	err = pool.Close(ctx)                 // nothing is left
package stewardpool
