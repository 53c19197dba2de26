// Package mpidirs names and removes the directories of a job's ranks on one node that MPI needs
// outside of the job's own directory: for shared memory, and for the files of a PMIx session. They
// are in public places, so a name identifies its agent, and an agent finds its own directories
// there, whatever has died.
//
// It also removes the files that MPI libraries of killed ranks have left beside them, under names
// of the libraries' own.
//
//	prefix := mpidirs.Prefix("lab", "n1", "/run/score/agents/n1")
//	name := mpidirs.Name(prefix, 7) // by the agent; its order to the steward has the name
//	err := os.Mkdir(mpidirs.Shared(name), 0o700)
//	...
//	err = mpidirs.Remove(ctx, name, uid)
package mpidirs
