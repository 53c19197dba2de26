// Package steward implements the process between an agent and the ranks of one job on one node. A
// steward is the parent of the ranks and their PMI server, and keeps their standard streams, exit
// statuses and control group. An agent starts it before there is a job, so that a job need not wait
// for it. It outlives the agent, so that the agent can be restarted while ranks run.
//
// A steward decides neither what runs nor when: the agent orders it to prepare and to launch, and
// freezes the control group from outside. It talks to no server: collectives with much data, names
// and spawns go to the agent as requests. It exchanges messages with the stewards of the job's
// other nodes, by datagrams or through the agents.
//
//	if len(os.Args) > 1 && os.Args[1] == "steward" {
//		os.Exit(steward.Main(os.Args[2:]))
//	}
//
// Package client starts a steward and speaks to it; package life is the state machine of the job,
// package stdiorelay moves its streams, and packages loop and peer are what both are made of. Read
// steward.go first (the loop and its parts), then control.go (messages of the agent) and orders.go
// (what life decides). DESIGN.md has the pictures.
package steward
