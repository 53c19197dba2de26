// Package pmix serves the ranks of one job on one node over PMIx: connections,
// greetings, requests and replies, on top of the engine that it shares with PMI-1
// and PMI-2 (package pmi).
//
// It is a machine without I/O. Bytes of connections and the time go in, effects
// come out: bytes to write, connections to close, and tasks for the server around
// it. How values are written is package bfrops, what is said package message.
//
//	server := pmix.NewServer(engine, config)
//	id := server.Accept(now)
//	for _, effect := range server.Feed(now, id, bytesRead) { ... }
//
// A client that breaks the protocol ends its job, by a Violation that says in a
// sentence what it did. A client that asks for what is not there, or not served,
// gets the status that PMIx has for that.
//
// Clients of libpmix 3.2.5, 4.2.2, 5.0.9 and 6.1.0 have been run against it, each on one node and
// on two, and all in one job; message/testdata has their messages.
package pmix
