// Package flowctl is the protocol between one sender and one receiver of a
// channel: modified ACK/NACK, which keeps order through refusals, finds what
// the wire lost, and knows when nothing is in flight.
//
// It is two machines without I/O, [Sender] and [Receiver]. Each takes an input
// and the instant now (nanoseconds of any clock that does not go back) and says
// what to send; its Deadline says when it wants to be ticked. How much may be
// sent is decided by a [Policy]: [AckNack], or [Credits].
//
// The states are plain values of fixed size without pointers, made to live in
// the shared memory of a context image, where zero bytes are a fresh state.
// Whoever has the CPU executes them, the process or the node's agent. The agent
// need not trust them: on any bytes the machines return in bounded time, without
// panic, and with no more frames to send than they were asked for. What numbers
// come back then is arbitrary, so a caller reduces them to its own bounds before
// it uses them as an index. [Config] is the caller's, and never in the image.
//
// It is not for encoding frames, holding messages, or choosing a link.
//
// DESIGN.md holds the picture of the states and the reason of every edge. sender.go and receiver.go
// are the machines, message.go is what they exchange, config.go has every bound with its reason.
package flowctl
