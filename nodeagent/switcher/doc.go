// Package switcher has the thread that switches gangs on one node: it sleeps
// until the next planned instant, and carries out what package ctxswitch
// orders, directly on the jobs' containers.
//
// From its wake-up to the new gang's running the thread hands nothing to
// another one, allocates nothing and takes no lock, so that neither the
// garbage collector's work nor a busy goroutine delays a switch; it runs at
// real-time priority where that is permitted. Others give it
// commands through an inbox, and get its notices from a bounded channel and Collect.
//
// It neither makes the plan nor starts or kills a process: a job's launch is
// a function that the caller gives, which must not block.
//
//	s := switcher.New(switcher.Options{Raise: raise})
//	go s.Run(ctx)
//	s.Add(switcher.Job{ID: 7, Container: group, Launch: steward.Launch})
//	s.Offset(term, offset)
//	s.Plan(&plan)               // 7 is launched when its row comes on
//	...
//	usage := <-s.Remove(7)      // from here on the container is not touched
package switcher
