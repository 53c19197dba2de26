// Package launch starts the ranks of a job, as the user who submitted it, and
// reports how each one ended.
//
// A Forker owns one operating system thread until it is closed: the kernel ties a child's
// parent-death signal to the thread that forked it, and a child inherits that thread's CPU
// affinity, no-new-privileges flag, umask, signal mask and (version 1) memory cgroup. A Reaper
// gives the pidfds of all ranks to its owner's event loop and reports every end once. Resolve finds
// the program beforehand, with the user's own permissions, so that a mistake yields one clear error
// and no process.
//
// It does not know PMI, the contents of standard streams, or gangs: package steward combines them.
// Read rank.go and forker.go first.
//
//	reaper := launch.NewReaper(func(pidfd, pid int) error { ... }) // to an epoll set
//	forker, err := launch.NewForker(reaper)
//	...
//	path, err := launch.Resolve("./a.out", "/home/ann", "/usr/bin:/bin", user)
//	processes, err := forker.StartAll([]launch.Rank{{ID: 0, Path: path, Argv: argv, Env: env,
//		Dir: "/home/ann", Stdin: in, Stdout: out, Stderr: out, User: user,
//		CPUs: []int{2, 3}, CgroupFD: job.FD()}})
//	...
//	exit, ended := reaper.Reap(pid) // when the pidfd is readable
//
// A process forks for one user and one job only; see Forker.
package launch
