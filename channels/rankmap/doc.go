// Package places says where the ranks of a job are: on which node each of them
// is, and at which address each node's directory listens, the daemons' own
// socket, where the port of a context can be asked for.
//
// A Map never changes, since the ranks of a job do not move. The node's agent makes
// one per job and hands it to the ranks as a sealed file: a few bytes per rank,
// checked whole by whoever opens it.
package rankmap
