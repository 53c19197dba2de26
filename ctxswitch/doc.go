// Package ctxswitch decides, for one node, which parallel jobs run now: it
// follows the rotation plan by the clock and takes the node from the jobs of
// one row to the jobs of the next in six steps: revoke, stop, flush, save,
// load, go.
//
// It is a machine without I/O. Facts come in as events together with the
// present instant of the node's monotonic clock; orders go out as effects; and
// Deadline says when the machine wants to be asked again. Freezing, thawing and
// starting processes is the caller's work, as is knowing the time. DESIGN.md
// has the picture and the reason of each edge.
//
// The package does not make the plan (package gang does), does not move a
// job's memory, and knows nothing of ranks, cgroups or signals.
package ctxswitch
