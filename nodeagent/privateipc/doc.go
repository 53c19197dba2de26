// Package privateipc gives the jobs of a steward an IPC namespace of their own: shared memory,
// semaphores and message queues of System V, and POSIX message queues. So a job cannot use up the
// kernel's tables for others, and nothing that a job has left there outlives it.
//
//	err := privateipc.Check() // by the agent: may this process, and can this kernel, do that?
//	...
//	ipc, err := privateipc.Enter(forker.Do) // by the steward, before there is a job
//	...
//	err = ipc.Renew(root) // after a job
//
// Only the thread that forks ranks is in the namespace. All others stay in the host's, where they
// read the host's limits. The mount namespace must be the steward's own (package privateshm).
package privateipc
