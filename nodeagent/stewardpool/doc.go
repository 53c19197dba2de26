// Package stewards keeps the stewards of a node: a few that are warm, so that
// a job finds its process and its control group ready, and those that have a
// job, until nothing of it is left.
//
// New ones are started in quiet moments: starting a process while another job
// is being launched would cost that job the time. It knows nothing of jobs
// beyond that; what a steward is told and tells is the caller's.
//
//	pool, err := stewards.Open(stewards.Options{Exe: exe, RunDir: dir, Cluster: "lab", Node: "n1"})
//	go pool.Run(ctx)                      // keeps some warm
//	steward, err := pool.Claim(ctx, uid, false, client.Events{Message: ..., Closed: ...})
//	err = steward.Prepare(order)          // its methods are those of client.Conn
//	...
//	pool.Retire(ctx, steward, reading)    // waits for the user's next job, or is removed
//	...
//	err = pool.Close(ctx)                 // nothing is left
package stewardpool
