// Package mem gives the processes of a job on one node access to each other's memory, without agent
// or daemon. So data sent inside a node is copied once.
//
// There are two ways. A Window is shared memory: peers map it, and read, write and change it with
// the processor's own instructions (package atomics). Any other memory of a peer is copied by the
// kernel, from address space to address space (Peer.Read, Peer.Write), where the system allows that
// (Peer.CanCopy). Where it does not, the caller sends the bytes through its channel.
//
// A Peer is exactly one process: no call reaches a later process with the same number. Mappings of
// peers' windows stay in a Cache after use, up to a limit.
//
//	cache := mem.NewCache(1 << 30)
//	w, err := mem.NewWindow(1 << 20)
//	handle := w.Handle().Encode() // send it to the peer
//	...
//	p, err := cache.OpenPeer(pid, start)
//	h, err := mem.ParseHandle(received)
//	m, err := p.Map(h)
//	copy(m.Bytes(), data)
//	err = m.Release()
//
// The package does not decide when memory may be used, nor by whom: ranks agree on that by
// messages. All processes of a job belong to one user and can ruin each other; see DESIGN.md for
// what a hostile peer cannot do.
package mem
