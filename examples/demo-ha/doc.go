// Command demo-ha shows a cluster that goes on: three servers and three agents on loopback, a job
// that knows nothing of what follows, and one that may be run again. The server that leads is
// killed, then the agent of a node. Run it by `make demo-ha`.
package main
