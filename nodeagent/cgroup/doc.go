// Package cgroup stops, continues, measures, limits and ends the processes of one job on one node,
// by a version 2 control group.
//
// It keeps the needed files open, so that it stops a job with one pwrite on cgroup.freeze and
// confirms that with one poll on cgroup.events. It works with the pure v2 layout (/sys/fs/cgroup)
// and the hybrid one (/sys/fs/cgroup/unified). A memory limit uses the v2 controller, or the v1
// memory hierarchy if v1 owns the controller; the number of processes is limited likewise.
//
// It neither starts processes (package launch does, in the group with descriptor FD) nor decides
// when a job runs (package ctxswitch does). Where groups cannot be used, package procgroup
// implements Container by signals; Probe reports which of the two a host allows, and why. Read
// container.go first, then root.go and group.go.
//
//	root, err := cgroup.OpenRoot("dev", "node1")
//	...
//	root.Sweep(time.Now().Add(time.Second), nil) // what a dead daemon left
//	job, err := root.Create(0)                   // .../score.dev.node1/s-0
//	...
//	job.Freeze()
//	err = job.WaitFrozen(time.Now().Add(5 * time.Millisecond))
//	job.Thaw()
//	job.Close(time.Now().Add(time.Second))       // kills what is left
//
// The kernel's documentation is Documentation/admin-guide/cgroup-v2.rst and, for memory of version
// 1, cgroup-v1/memory.rst.
package cgroup
