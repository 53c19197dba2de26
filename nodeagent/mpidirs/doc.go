// Package mpidirs names and removes the directories in which the ranks of a job on one node keep
// what MPI wants outside of the job's own directory: shared memory, and the files of a PMIx
// session. They lie where everybody may write, so a name identifies its agent, and an agent finds
// its own directories there, whatever has died.
//
// It also removes what MPI libraries of killed ranks have left beside them, under names of
// the libraries' own.
//
//	prefix := mpidirs.Prefix("lab", "n1", "/run/score/agents/n1")
//	name := mpidirs.Name(prefix, 7) // the agent's; it tells the steward
//	err := os.Mkdir(mpidirs.Shared(name), 0o700)
//	...
//	err = mpidirs.Remove(ctx, name, uid)
package mpidirs
