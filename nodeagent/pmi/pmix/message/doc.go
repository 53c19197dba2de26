// Package message reads and writes the messages between PMIx clients and their server: the hello of
// a connection, the header of a message, and the requests and replies, one in each file. Package
// bfrops encodes their values. The package holds no state. Each file has both directions of its
// message; the server needs one of them, and tests act as clients with the other.
//
// A request is read from its payload, after the command:
//
//	command := message.Command(r.Command())
//	fence := message.ReadCollective(r)
//	if err := r.Err(); err != nil { ... }
package message
