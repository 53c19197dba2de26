// Package uct holds the transports of the messaging stack: active messages, one-sided operations
// and atomics between the ranks of a job, over PM channels:
//
//	pm/ofi ─▶ pm/tag ─▶ pm/uct ─▶ pm ─▶ channels
//	                     └─▶ pm/mem      windows, copies between processes
//
// Use it for one-sided operations, for atomics, for messages with handlers, and to build libraries.
// For messages that are sent and received, tag is simpler. DESIGN.md has the protocol. The object
// model is that of UCX's UCT:
//
//	MD      memory that peers may reach: regions with keys
//	Worker  drives interfaces; one goroutine uses it at a time
//	Iface   the rank's end of a channel: handlers of active messages, attributes
//	EP      the way to one peer: all operations; it is made at the first use
//
// A message takes the best way that the channel has. Inside a node these are an exclusive lane of
// the pair (ER in the GLEX papers), or the shared ring of all others (SR, MP); between nodes
// datagrams under ACK/NACK or credits. Inside a node the memory of a window is mapped, and long
// transfers from and to it are one copy. Those of other memory go in pieces through the channel:
// both ranks copy at the same time, which is faster than one copy by process_vm_readv. That one is
// used by ranks that share CPUs, and for the source of a rendezvous whose owner does not answer.
//
// # Operations
//
// An operation that cannot begin now returns ErrAgain and has no effect; the caller tries again
// after Progress, or adds itself to the EP's pending queue, which is served in order. An operation
// with a Completion ends in a call of Complete, from Progress or before the operation returns.
// Operations on one EP are served in the order in which they were begun.
//
//	iface, err := uct.Open(1)
//	w := iface.Worker()
//	iface.Handle(id, func(p *uct.Packet) { ... })
//	ep, err := iface.EP(rank)
//	err = ep.Send(uct.Header{ID: id}, data) // ErrAgain: call w.Progress, then try again
//	...
//	for !arrived { err = w.Turn(ctx) }         // handlers run in Turn
//	err = w.Do(ctx, func(done uct.Completion) error { return ep.Put(data, to, done) }) // and waits
//
// # One-sided operations
//
// Put, Get and Atomic name memory by the key of a region that the target has registered. The
// target's process serves them while it makes progress, in the order of the channel. Memory that
// MD.Alloc gave is reached by load and store from processes of the same node, without the target.
// A key that is unknown, closed or too short for the operation completes it with ErrKey or
// ErrRange.
//
// # Other jobs
//
// Connect returns the way to a rank of another job of the same user, by the Address that this one
// handed out. Its EP has all operations; they go by TCP (package interjob), not by the channel.
package uct
