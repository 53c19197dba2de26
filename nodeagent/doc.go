// Package nodeagent is the agent of one node: what concerns the node as a
// whole and outlives the single job.
//
// It holds the node's stream to the leader, keeps the rotation plan and
// switches gangs by the clock, keeps a few stewards warm and gives one to
// every job, relays the jobs' input and output to the servers, and exchanges
// the collectives of the process management interface with the other agents.
//
// It does not decide which job runs where or when: that is the leader's. It is
// no parent of ranks and speaks no PMI: that is the steward's. How a switch
// proceeds is decided by package ctxswitch; this package acts on it.
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
// Several agents may live in one process; they share nothing.
package nodeagent
