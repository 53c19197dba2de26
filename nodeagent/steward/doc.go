// Package steward is the process between an agent and the ranks of one job on
// one node: the parent of the ranks, their PMI server and the keeper of their
// standard streams, exit statuses and control group. An agent starts it before
// there is a job, so that a job finds it ready. It outlives the agent, so that
// the agent can be restarted while ranks run.
//
// It decides neither what runs nor when: the agent says prepare and launch, and
// freezes the control group, from outside. It talks to no server and to no
// other node: collectives, names and spawns go up to the agent as requests.
//
//	if len(os.Args) > 1 && os.Args[1] == "steward" {
//		os.Exit(steward.Main(os.Args[2:]))
//	}
//
// Package client starts a steward and speaks to it, package life decides what
// becomes of the job. DESIGN.md has the pictures.
package steward
