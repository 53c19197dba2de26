// Package switcher runs the thread that switches gangs on one node. It sleeps until the next
// planned instant, and carries out the effects of package ctxswitch directly on the jobs'
// containers.
//
// From its wake-up until the new gang runs the thread waits for no other thread, allocates nothing
// and takes no lock, so that neither the garbage collector nor a busy goroutine delays a switch. It
// runs at real-time priority where that is permitted. Other goroutines give it commands through an
// inbox, and read its notices from a bounded channel and its measurements with Collect. Read
// switcher.go first (the interface), then thread.go and act.go.
//
// It neither makes the plan nor starts or kills processes: the caller provides the function that
// launches a job, which must not block.
//
//	s := switcher.New(switcher.Options{Raise: raise})
//	go s.Run(ctx)
//	s.Add(switcher.Job{ID: 7, Container: group, Launch: steward.Launch})
//	s.Offset(term, offset)
//	s.Plan(&plan)               // 7 is launched when its row comes on
//	...
//	usage := <-s.Remove(7)      // from here on the container is not touched
package switcher
