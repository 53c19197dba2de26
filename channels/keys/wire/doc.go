// Package wire has the messages between a program that publishes keys and its job's steward, on the
// stream socket that PMI uses as well (PMI_FD). It has no I/O.
//
// The client begins with Hello, a line that no PMI client begins with. After that both sides
// send frames:
//
//	frame := length 4 · op 1 · body        the length, little-endian, counts op and body
//
//	Join     <-  rank 4 · size 4           the answer to the hello, with the store's descriptor (package keys)
//	Commit   ->  n*(scope key value)       keys of this rank, to be seen at once where the scope says;
//	         <-                            texts with their length before them, as unsigned LEB128
//	Fence    ->                            wait until all ranks have come, and what they committed is
//	         <-                            in every node's store
//	Barrier  ->                            wait until all ranks have come
//	         <-
//	Leave    ->                            this rank asks nothing any more
//	         <-
//	Respawn  -> times 4                    start this rank again when it fails, at most that many times
//	         <-
//
// A client asks one thing at a time. There are no refusals: a wrong request ends the job, with a
// sentence. The answer to a Fence or Barrier has a body only if there was no fence, since the job
// goes on without a lost node: the reason.
package wire
