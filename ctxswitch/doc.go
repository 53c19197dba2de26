// Package ctxswitch decides, for one node, which parallel jobs run now. It follows the rotation
// plan by the clock and switches from the jobs of one row to the jobs of the next in six steps:
// revoke, stop, flush, save, load, go.
//
// The package is a state machine without I/O. Input: events (plans, jobs that come and go, answers
// to orders), each with the present instant of the node's monotonic clock. Output: effects, which
// are orders to the caller, and Deadline, the instant of the next Tick. The caller freezes, thaws
// and starts processes and reads the clock.
//
//	m := ctxswitch.New(ctxswitch.Config{Channels: 16})
//	for _, effect := range m.Handle(now, ctxswitch.PlanArrived(&plan)) {
//		// carry the order out; when that is done: m.Handle(now, ctxswitch.Done(effect))
//	}
//	// at m.Deadline(): m.Handle(now, ctxswitch.Tick())
//
// Read step.go and transition.go first: the steps, and every transition between them with its
// reason. event.go and effect.go list input and output. DESIGN.md has a picture.
//
// The package does not make the plan (package gang does), does not move a job's memory, and knows
// no ranks, cgroups or signals.
package ctxswitch
