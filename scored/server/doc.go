// Package server composes one server of the cluster: the replicated state,
// the leader that decides, and the sockets on which users and agents speak
// with it.
//
// It makes no decision of its own: what happens to a job is decided in
// package leader, what may be asked and by whom stands in package rpc.
//
//	s, err := server.New(server.Options{
//		DataDir:     "/var/lib/score",
//		UserSocket:  "/run/score/scored.sock",
//		AgentListen: "127.0.0.1:7420",
//		ClusterName: "lab",
//		ClusterKey:  key,
//		Version:     api.Version(),
//	})
//	if err != nil {
//		return err // one sentence: the address is taken, the data locked ...
//	}
//	return s.Run(ctx) // until ctx ends
//
// A cluster in one process (scrun without a cluster) leaves DataDir empty and
// gives its agent s.AgentURL() and s.AgentClient().
package server
