// Package stewardpool manages the stewards of a node: a few warm ones, so that a job need not wait
// for its process and control group, and those with a job, until nothing of the job is left.
//
// It starts new stewards while no job is being launched, which that would delay. Otherwise the pool
// does not deal with jobs: the caller sends a steward's orders and gets its messages.
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
