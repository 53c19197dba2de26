// Package cgroup stops, continues, measures, limits and ends the processes of
// one job on one node, by a control group of the kernel's version 2.
//
// It keeps the files it needs open, so that stopping a job is one pwrite on
// cgroup.freeze and learning that it has stopped is one poll on cgroup.events.
// Both the pure v2 layout (/sys/fs/cgroup) and the hybrid one
// (/sys/fs/cgroup/unified) are found. A memory limit uses the v2 controller,
// or the v1 memory hierarchy where v1 owns the controller; the number of processes
// is limited likewise.
//
// It neither starts processes (package launch does, into the group whose
// descriptor is FD) nor decides when a job runs (package ctxswitch does).
// Where groups cannot be used, package procgroup offers the same Container by
// signals; Probe says which of the two a host allows, and why.
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
// The kernel's side is described in Documentation/admin-guide/cgroup-v2.rst
// and, for memory of version 1, in cgroup-v1/memory.rst.
package cgroup
