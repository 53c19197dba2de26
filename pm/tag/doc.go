// Package tag sends tagged messages of any length between the ranks of a job, over the transports
// of package uct. A receive names a source, or any, and the bits of the tag that must agree; the
// oldest message that matches goes to the oldest receive that matches (package match).
//
//	pm/ofi ─▶ pm/tag ─▶ pm/uct ─▶ pm ─▶ channels
//	           └─▶ pm/tag/match
//
// Use it for messages between ranks, whatever their length. One-sided operations go through the
// same Iface (package uct).
//
//	ep, err := tag.Open(1)
//	var s, r tag.Op
//	ep.Receive(&r, tag.Criteria{Source: from, Tag: 7}, buf)
//	ep.Send(&s, tag.Peer{Rank: to}, 7, data)
//	err = ep.Wait(ctx, &s, &r) // or Progress of the Iface's worker until both are Done
//
// # Protocols
//
// A short message is *eager*: its bytes come with its envelope; a synchronous one is answered when
// a receive has it. A long one is a *rendezvous*: the envelope alone is sent, and the receiver
// fetches the bytes into its buffer when it has one. What is eager depends on the transport to the
// peer (EagerLocal, EagerRemote) and on the receiver's room.
//
// The receiver keeps eager bytes that no receive waits for, and bounds them: each peer has a
// window. A message beyond the window is sent as rendezvous, unless its bytes cost no more than its
// envelope. So the bytes stay with the sender, and there are at most as many envelopes as its
// program has sends under way. DESIGN.md has the proof that this never deadlocks. A window grows,
// from a pool, for peers that need more.
//
// An Op is the caller's. Its Complete, if set, is called when it ends, from Progress or from the
// call that began it.
package tag
