// Package wire serves the ranks of one node over PMI-1 and PMI-2: bytes of ranks go in, bytes for
// ranks and tasks for the caller come out. It joins the engine of package pmi with the formats of
// pmi1 and pmi2, and has no sockets, goroutines or clocks; the caller reads, writes and locks. Read
// server.go first.
//
// One connection serves both protocols: a client's first line names the version that it wants. The
// caller gives each rank a connection of its own, a socketpair (PMI_FD) or a listening port
// (PMI_PORT). So the rank is known before it sends anything, and a rank that claims to be another
// one is detected.
//
//	server := wire.NewServer(engine)
//	for _, effect := range server.Feed(rank, buffer[:n]) {
//		switch effect.Kind {
//		case wire.Reply:
//			connections[effect.Rank].Write(effect.Bytes)
//		case wire.Event:
//			carryOut(effect.Event) // and answer by server.Do
//		case wire.Abort, wire.Violation:
//			endJob(effect)
//		...
//		}
//	}
//
// After Abort or Violation the job must end; the server ignores further input and makes no more
// effects.
package wire
