// Package leader decides what happens to jobs: which ones start, where, when their gangs run, and
// how they end.
//
// One goroutine owns the controller: a gang.Machine and tables of jobs and nodes, rebuilt from the
// committed state whenever this server starts to lead. Inputs from users and agents change the
// controller at once. They yield commands for the log, and effects such as messages and answers. An
// effect waits until the commands decided before it are committed, so nothing that could still be
// lost is reported. While one batch is being written the next is decided. DESIGN.md shows the life
// of a job.
//
// The package does not speak any protocol (package rpc does), keeps nothing on
// disk (package replica does), and is not on the path of a switch: agents switch
// by the rotation plan and their clocks.
//
//	l := leader.New(leader.Options{Replica: r, Cluster: "lab", Version: v})
//	go l.Run(ctx)
//	id, err := l.Submit(ctx, spec, user, caller) // committed
package leader
