// Package server composes one server of the cluster from the replicated state, the leader, and the
// sockets for users and agents.
//
// It makes no decisions: package leader decides about jobs, and package rpc who may ask for what.
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
// gives its agent s.AgentURL() and s.DialAgents.
package server
