// Package keys stores the keys and values of a job's ranks in memory that the processes of a node
// share. The job's steward writes each once per node; programs read without asking anybody.
//
// The memory only grows: a value stays where it is, and a later one of the same key is found before
// it. So a reader needs no lock, never waits and never tries again, and the writer does not know of
// readers. Neither slows the other down, however many readers there are or where they are stopped.
// (A pair of locks for each reader, as other implementations have, costs a reader two atomic
// writes, and the writer a lock per reader.) The file has its full size from the start, without
// pages behind it: it grows as it is written, and no reader maps it again.
//
// A reader that waits for a value sleeps on a count in the memory (futex). The writer counts and
// wakes once for all values of a call, without knowing whether anybody sleeps: a reader cannot
// register, because the descriptor is sealed against writing. Readers still check what they read.
package keys
