// Package realtime lets one thread act at planned instants although spinning
// programs fill every CPU: a real-time priority, and a sleep until an absolute
// instant that can be interrupted.
//
// It is for the switching thread of an agent, and for daemons that take as little as they can from
// the ranks beside them. Correctness does not depend on it: where the priority is not permitted,
// switches come later, and the caller reports that once.
//
// A real-time thread must not keep a processor: a Guard makes one that does an ordinary thread.
//
// The thread has to be locked (runtime.LockOSThread), and the Go scheduler must
// have a processor left for it when it wakes: keep GOMAXPROCS above the number
// of goroutines that compute.
//
//	runtime.LockOSThread()
//	if err := guard.SetFIFO("the switching thread", realtime.SwitchPriority); errors.Is(err, realtime.ErrNotPermitted) {
//		log.Info(err.Error())
//	}
//	late, woken, err := sleeper.Until(instant) // woken: the plan has changed
package realtime
