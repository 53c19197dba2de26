// Package rankmap holds where the ranks of a job are: the node of each rank, and the address of
// each node's directory, a socket of the daemon's that answers with the port of a context.
//
// A Map never changes, since the ranks of a job do not move. The node's agent makes one for each
// job and gives it to the ranks as a sealed file: a few bytes for each rank, checked by each
// reader.
package rankmap
