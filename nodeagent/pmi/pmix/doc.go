// Package pmix serves the ranks of one job on one node over PMIx. It handles connections,
// greetings, requests and replies; the engine below it serves PMI-1 and PMI-2 as well (package
// pmi).
//
// It is a machine without I/O. Its input is the bytes of connections and the time; its output is
// effects: bytes to write, connections to close, and tasks for the caller. Package message has the
// messages, package bfrops the encoding of their values. Begin with effect.go, then server.go
// (input) and requests.go (what each request does).
//
//	server := pmix.NewServer(engine, config)
//	id := server.Accept(now)
//	for _, effect := range server.Feed(now, id, bytesRead) { ... }
//
// A client that breaks the protocol ends its job, by a Violation with a sentence about what the
// client did. A client that asks for something unknown or unsupported gets PMIx's status for that.
//
// It was tested with clients of libpmix 3.2.5, 4.2.2, 5.0.7, 5.0.9 and 6.1.0: each on one node and
// on two, and all in one job. message/testdata has their messages.
package pmix
