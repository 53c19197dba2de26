// Package ofi has libfabric's object model over the transports, as far as message libraries need
// it. C programs use the same objects through the shared library in pm/lib. Other Go programs use
// pm/tag and pm/uct.
//
//	C programs ─▶ libfabric ─▶ pm/lib ─▶ pm/ofi ─▶ pm/tag ─▶ pm/uct ─▶ pm ─▶ channels
//
//	Domain     channel and progress of this rank, and its memory that peers reach by a key
//	Endpoint   reliable datagrams (FI_EP_RDM): tagged and untagged messages, RMA, atomics
//	AV         numbers for peers' addresses
//	CQ         completions, oldest first
//	Counter    counts completions
//
// What consumers require of each object was measured with real libraries; what none of them needs
// (passive endpoints, scalable endpoints, shared receive contexts, event queues) is left out.
//
// An operation that returns nil completes later, with an entry of the endpoint's CQ if it asks for
// one (Completion, or neither Quiet nor a selective queue), and with an entry that has Err set if
// it fails. ErrAgain asks for progress: read the CQ and try again. One goroutine uses a domain and
// its objects at a time, unless it calls Lock and Unlock around each use.
//
//	d := ofi.Open(channel)
//	cq, av := d.CQ(0), d.AV()
//	ep, err := d.Endpoint(ofi.EndpointOptions{Transmit: cq, Receive: cq, AV: av})
//	to, err := av.Insert(name) // of the peer's Endpoint.Name
//	err = ep.Receive(ofi.Receive{Buffer: buf, From: ofi.AnyAddress, Tag: 7, Flags: ofi.Tagged})
//	err = ep.Send(ofi.Send{Buffer: data, To: to, Tag: 7, Flags: ofi.Tagged})
//	for n := cq.Read(entries); n == 0; n = cq.Read(entries) {
//		d.Progress()
//	}
package ofi
