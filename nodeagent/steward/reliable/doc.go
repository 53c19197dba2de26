// Package reliable delivers messages between stewards exactly once, also if an agent on the way
// dies.
//
// It is a machine without I/O, one for each steward and job: an [Endpoint] numbers
// what is sent to each peer, keeps it until the peer has acknowledged it, repeats it
// when that takes long or another agent has come, and recognizes repetitions of what
// it gets. Acknowledgements travel with messages, or by themselves when there are
// none for a while. The order is not kept: messages overtake each other anyway.
//
//	message, err := endpoint.Send(now, peer, data, options)   // to be sent
//	fresh := endpoint.Receive(now, peer, header)              // is the message new?
//	messages, lost := endpoint.Tick(now)                      // at Deadline
package reliable
