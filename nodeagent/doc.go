// Package nodeagent is the agent of one node. It does what concerns the node as a whole and
// outlives a single job.
//
// It keeps the node's stream to the leader, switches gangs by the leader's plan and the clock,
// gives each job a steward from a small pool, relays the jobs' input and output to the servers, and
// exchanges the collectives of the process management interface with the other agents.
//
// The leader decides which job runs where and when. A job's steward is the parent of its ranks and
// speaks PMI with them. Package ctxswitch decides how a switch proceeds.
//
// The agent's parts are the packages below this one. This package makes them, connects them,
// listens, and passes the leader's orders on: begin with agent.go (New, Run), serve.go (the order
// of starting and stopping) and orders.go (what each order does). Package jobs has the jobs' parts
// on the node.
//
//	agent, err := nodeagent.New(nodeagent.Options{
//		Name:       "n1",
//		Cluster:    "lab",
//		RunDir:     "/run/score/n1",
//		Servers:    []string{"http://127.0.0.1:7420"},
//		ClusterKey: key,
//		Listen:     "127.0.0.1:7421",
//		StewardExe: "/usr/bin/scored",
//	})
//	if err != nil {
//		return err
//	}
//	return agent.Run(ctx) // until ctx ends, then nothing is left
//
// Several agents may run in one process; they share nothing.
package nodeagent
