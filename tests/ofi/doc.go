// Package ofi tries libfabric over channels as its consumers use it: programs of the test's own do
// in each row what a real library was seen to ask for (Open MPI, MPICH, OpenSHMEM, GASNet-EX,
// fabtests).
//
// Two ranks of a job do the same in each row, on one node and on two, with the library that has
// only the provider pm, and with another libfabric that loads it. One of the ranks may be a Go
// program, which uses package score/pm/ofi: what both send is the same on the wire.
//
//	testdata/consumer   the C program: a function for each row
//	rank                the Go program: the rows in which something is sent
package ofi
