// Package stdiorelay moves the standard streams of a job's ranks on one node: output from their
// pipes to a reader and to files, input from the reader to their pipes. It does so in an event loop
// of its own; DESIGN.md of package steward says what it promises.
//
// control.go has what other goroutines may call, relay.go the loop and the reader, output.go and
// input.go the two directions.
package stdiorelay
