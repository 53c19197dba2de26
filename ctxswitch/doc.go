// Package ctxswitch decides, for one node, which parallel jobs run now: it
// follows the rotation plan by the clock and takes the node from the jobs of
// one row to the jobs of the next in six steps: revoke, stop, flush, save,
// load, go.
//
// It is a machine without I/O. Events come in together with the present instant of the node's
// monotonic clock; orders go out as effects; and Deadline returns when the next Tick is due. The
// caller freezes, thaws and starts processes, and knows the time. Read transition.go first (all
// transitions, with their reasons), then machine.go. DESIGN.md has the picture.
//
// The package does not make the plan (package gang does), does not move a job's memory, and does
// not know ranks, cgroups or signals.
package ctxswitch
