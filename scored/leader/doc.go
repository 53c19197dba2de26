// Package leader decides what happens to jobs: which start, where, when their
// gangs run, and how they end.
//
// One goroutine owns the controller: a gang.Machine and a table of jobs and nodes,
// rebuilt from the committed state whenever this server begins to lead. What
// comes from users and agents changes the controller at once, and yields commands
// for the log and effects on the world. Effects wait until the commands decided
// before them are committed, so nobody is told what could still be lost. While
// one batch is being written the next is decided. DESIGN.md has the picture of a
// job's life.
//
// The package does not speak any protocol (package rpc does), keeps nothing on
// disk (package replica does), and is not on the path of a switch: agents switch
// by the rotation plan and their clocks.
//
//	l := leader.New(leader.Options{Replica: r, Cluster: "lab", Version: v})
//	go l.Run(ctx)
//	id, err := l.Submit(ctx, spec, user, caller) // committed
package leader
