// Package reliable delivers messages between stewards exactly once, even if an agent on the way
// dies.
//
// It is a machine without I/O, one for each steward and job. An [Endpoint] numbers the messages to
// each peer and keeps each until the peer has acknowledged it. It repeats a message when that takes
// long or another agent has come, and recognizes repetitions among received messages.
// Acknowledgements travel with messages, or by themselves when there are none for a while. If much
// is on its way, more messages wait until some of it is acknowledged. A receiver that cannot pass
// on what arrives asks its peers to pause. The order is not kept.
//
//	message, ok, err := endpoint.Send(now, peer, data, options) // to be sent, if ok
//	fresh := endpoint.Receive(now, peer, header)                // is the message new?
//	messages, lost := endpoint.Tick(now)                        // at Deadline
package reliable
