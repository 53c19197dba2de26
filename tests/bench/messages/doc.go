// Package messages measures the message library beside its peers: one way times, rates and
// bandwidths inside a node and by UDP, and what a full inbox, a rank that does not poll and a
// silent peer cost.
//
// Ranks are processes, each on a processor of its own: the program starts itself again
// (IsRank, RunRank), by pm/local, which plays the agents.
package messages
