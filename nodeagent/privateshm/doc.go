// Package privateshm gives the jobs of a steward a /dev/shm of their own, in a mount namespace of
// the steward's. So a job that fills it disturbs no other, and nothing that a job has left there
// outlives the job.
//
//	err := privateshm.Check() // by the agent: may this process, and can this kernel, do that?
//	command.SysProcAttr.Cloneflags = privateshm.CloneFlags
//	...
//	shm, err := privateshm.Enter() // by the steward, first of all
//	...
//	err = shm.Renew() // after a job
package privateshm
