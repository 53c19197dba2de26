// Package message has the messages between PMIx clients and their server, above
// the encoding of values (package bfrops): the hello of a connection, the header
// of a message, and one request or reply per file, each with its reader and its
// writer. It holds no state.
//
// Requests are read with the reader of a payload behind its command:
//
//	command := message.Command(r.Command())
//	fence := message.ReadCollective(r)
//	if err := r.Err(); err != nil { ... }
package message
