// Package residence decides how the contexts of a job on one node leave the
// network and come back: which driver locks are taken, which contexts are
// flushed, how long each is waited for, what becomes of those that do not
// follow, and when an ordered step is over.
//
// It is a machine without clock and I/O: orders, checks and the present instant
// come in. It acts on contexts through the interface [Context], which
// channels/node implements for images and sockets, and the simulator
// (tests/sim) for its own. It does not drive contexts whose processes are on,
// and does not know why a step is ordered: package ctxswitch does.
//
// channels/node/DESIGN.md has the picture and the reasons ("Leaving and coming
// back").
package residence
