// Package gang decides where and when parallel programs run. It implements the gang matrix of
// Ousterhout (1982) with its placement, its queue and the rotation plan that node agents follow.
//
// A gang is all ranks of a job on all its nodes, with any jobs that joined it.
// It is placed whole in one row (a time slot), runs as a whole when the
// row's turn comes, and also in every other row where all its CPUs are free.
// Memory is shared by all rows, since descheduled gangs stay in RAM.
//
// The package is a machine without I/O: calls bring events and the cluster's time in,
// results bring decisions out. It holds no goroutine, clock, log or random
// source, and equal calls give equal results on every replica. It does not
// start anything, measure anything or remember jobs that have ended. A Machine
// is not safe for concurrent use; one goroutine owns it.
//
// Read types.go (requests and allocations) and machine.go first, then schedule.go. DESIGN.md has
// the picture and the reasons.
package gang
