// Package match joins receives with messages by source and tag, as MPI and libfabric want it. It is
// a machine without I/O: it holds no data, and the layer above moves it.
//
// A [Matcher] keeps two lists. A message that arrives takes the receive that was posted first of
// those that match it; if there is none, it is unexpected and is held. A receive takes the message
// that was held first of those that match it; if there is none, it is posted. So no posted receive
// ever matches a held message. Receives and messages are memory of the caller, who embeds [Recv]
// and [Message]; nothing is allocated for them.
//
// Matching takes the same time however many receives are posted and messages held, also with
// wildcards, as long as programs combine them in few ways: with any source or not, and with few
// masks of ignored bits. DESIGN.md says how.
//
// It is not for several goroutines at once, for the data of messages, or for receives without tags
// (a tag whose bits are all ignored does that). It has no defence against peers that choose tags
// to collide in a hash table: matching stays right and gets slow. Peers are ranks of the same job,
// and harm nobody but that job.
package match
