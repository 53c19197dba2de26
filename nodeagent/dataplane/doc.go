// Package dataplane joins the agent to package channels/node: it knows which jobs are here and
// where their other nodes are, decides who may have a rank's contexts, and ends a job's contexts.
//
// A rank finds the agent by a Unix socket that the ranks of all users reach, in a directory in
// which only the agent makes names: so nobody can take its place while the agent is restarted. The
// kernel says which process connects; it gets the contexts of the rank that it is, or descends
// from. A program that never connects costs its job one entry in a map: no descriptor, no
// goroutine, no context. A rank may have as many channels as its job asked for, and the leader
// counted, per rank.
//
//	plane, err := dataplane.Open(dataplane.Options{Address: address, Socket: path, ...})
//	plane.Serve()
//	job, err := plane.Add(ctx, order, steward.Pid(), spares)  // before anything of the job runs
//	job.Launched(pids)
//	job.Ended(rank)
//	job.Rest()
//	job.Over()
//	err = plane.Close()
package dataplane
