// Package keys is the key sets of a job's ranks in memory that the processes of a node share: the
// job's steward writes them, once per node, and programs read them without asking anybody.
//
// The memory is only ever added to: a value that is there stays as and where it is, and a later one
// of the same key is found before it. So a reader needs no lock, never waits and never tries again,
// the writer does not know of readers, and neither slows the other down, however many there are or
// where they are stopped. (The reader/writer locks that are in use for this, a pair of locks for
// each reader, cost a reader two atomic writes and the writer a lock per reader.) The file has its
// full size from the start, without pages behind it: it grows as it is written, and no reader maps
// again.
//
// Who waits for a value sleeps in the kernel on a count in the memory (futex). The writer counts
// and wakes once for all that it has put, without knowing whether anybody sleeps: a reader has no
// word that it could write for that.
//
// A reader cannot write: the descriptor is sealed against that. What it reads is checked all the
// same.
package keys
