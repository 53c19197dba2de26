// Package tipc runs what needs a kernel with TIPC in guests that have one: the tests of the
// packages that speak it, those of pm between nodes, and clusters of two hosts that an Ethernet
// bearer joins, or ought to.
package tipc
