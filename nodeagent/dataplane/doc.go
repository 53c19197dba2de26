// Package dataplane connects the agent with package channels/node: it knows which jobs are here and
// where their other nodes are, decides which process may have a rank's contexts, and ends a job's
// contexts.
//
// A rank finds the agent by a Unix socket that the ranks of all users can reach, in a directory in
// which only the agent can create names: so nobody can take its place while the agent restarts. The
// kernel identifies the connecting process. It gets the contexts of the rank that it is, or
// descends from. A program that never connects costs its job one entry in a map, and no descriptor,
// goroutine or context. A rank may have as many channels as its job has asked for per rank; the
// leader has counted them. Read plane.go first.
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
