// Package realtime lets a thread act at planned instants even if spinning programs occupy every
// CPU: it provides a real-time priority, and an interruptible sleep until an absolute instant.
//
// It is for the switching thread of an agent, and for daemons that take as little as they can from
// the ranks beside them. Correctness does not depend on it: where the priority is not permitted,
// switches come later, and the caller reports that once.
//
// A real-time thread must not occupy a processor; a Guard turns such a thread into an ordinary one.
//
// The thread has to be locked (runtime.LockOSThread), and the Go scheduler must
// have a processor left for it when it wakes: keep GOMAXPROCS above the number
// of goroutines that compute.
//
//	runtime.LockOSThread()
//	err := guard.SetFIFO("the switching thread", realtime.SwitchPriority)
//	if errors.Is(err, realtime.ErrNotPermitted) {
//		log.Info(err.Error())
//	}
//	late, woken, err := sleeper.Until(instant) // woken: the plan has changed
package realtime
