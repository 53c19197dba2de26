// Package local starts the ranks of a PM program on this machine, without daemons: for programs
// under development, for tests, and for benchmarks. It takes the place of the node's agent: it
// makes the contexts, hands them out, and tells the other ranks when one died.
//
// It starts no job of a cluster; scrun does.
//
//	group, err := local.Start(local.Config{Ranks: 2, Command: func(rank int) *exec.Cmd {
//		return exec.Command("./pingpong")
//	}})
//	if err != nil { ... }
//	defer group.Close()
//	err = group.Wait()
package local
