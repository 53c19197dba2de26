// Package keys lets the ranks of a job tell each other small things at their start, or later:
// addresses, names of files, seeds. Each rank publishes values under keys of its own, and reads
// those of all others.
//
//	job, err := keys.Open()
//	if err != nil { ... }
//	defer job.Close()
//	job.Put(keys.Global, "card", myAddress)
//	if err := job.Fence(ctx); err != nil { ... }
//	theirs, ok := job.Get(peer, "card")
//
// What others have published is in memory that all ranks of a node share. Get looks there by
// itself: it takes well under a microsecond, asks nobody, allocates nothing and never waits,
// however many ranks read at the same time.
//
// Commit shows what was put to the ranks of the own node, at once; Fence, which all ranks call,
// commits and shows it to the ranks of all nodes. Barrier only waits for all ranks.
//
// The program is started with scrun. A rank that ends without Close has failed, which ends the job;
// one that a Fence waits for must not have called it.
package keys
