// Command demo shows the benefit of gang scheduling. It starts a cluster of two nodes, runs two
// fine-grained MPI programs on it at the same time, and then runs the same two under Linux's own
// time sharing. Run it by `make demo`.
package main
