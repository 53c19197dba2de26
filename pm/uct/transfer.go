package uct

import "score/pm/mem"

// peerProcess is the peer's process, if it is on this node and may be reached.
func (e *EP) peerProcess() *mem.Peer {
	if e.tried || !e.local {
		return e.process
	}
	pid, start, ok := e.iface.ch.PeerProcess(e.rank)
	if !ok {
		return nil // it has not opened the channel yet
	}
	e.tried = true
	if p, err := e.iface.md.cache.OpenPeer(pid, start); err == nil {
		e.process = p
	}
	return e.process
}

// prefersCopy reports whether n bytes should be copied once between the processes, if the system
// allows that, instead of going in pieces through the channel.
func (e *EP) prefersCopy(n int) bool { return e.local && e.iface.crowded && n >= minCopy }

// transferFor returns how the n bytes of a put or a get move.
func (e *EP) transferFor(n int) transfer {
	switch {
	case e.prefersCopy(n) && e.peerCopies():
		return byCopy
	case e.usesBulk(n):
		return byBulk
	default:
		return byPieces
	}
}

// canCopy reports whether this process may copy from and to the peer's memory.
func (e *EP) canCopy() bool {
	p := e.peerProcess()
	return p != nil && p.CanCopy()
}

// transfer is how the bytes of a put or a get move.
type transfer uint8

const (
	byPieces transfer = iota // through the channel
	byCopy                   // the peer copies between the processes
	byBulk                   // as bulk datagrams, which the reader asks for
)
