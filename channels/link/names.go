package link

import (
	"crypto/sha256"
	"encoding/binary"
)

// NameChannels is how many channels a rank has names for: all that it can have.
const NameChannels = 16

// ReservedNames is the number of instances, from 0 on, that belong to no job: each agent binds the
// one that is its cluster's mark, so that two clusters with the same type notice each other.
const ReservedNames = 1 << 16

// MarkOf returns the mark of the cluster with the identity. One pair of clusters in 65,536 has the
// same mark; such two do not notice each other.
func MarkOf(identity []byte) uint32 {
	sum := sha256.Sum256(append([]byte("score: mark of a cluster\n"), identity...))
	return binary.LittleEndian.Uint32(sum[:]) % ReservedNames
}

// Names are the names that a job has in TIPC, one for the directory of each of its nodes and one
// for each context, side by side:
//
//	Base              +Nodes
//	 | node 0, 1, ...  | channel 0: rank 0, 1, ... | channel 1: rank 0, 1, ... | ...
//
// The base is made of the job's key. So whoever does not have it cannot bind a name before the job
// does, and two jobs rarely have names in common; where they do, each refuses what is for the
// other.
type Names struct {
	Kind         uint32 // the cluster's type
	Base         uint32
	Nodes, Ranks uint32
}

// NamesOf returns the names of the job with the key. nodes and ranks are bounded as place maps are.
func NamesOf(kind uint32, key uint64, nodes, ranks uint32) Names {
	n := Names{Kind: kind, Nodes: nodes, Ranks: ranks}
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("score: names of a job\n"), key))
	n.Base = ReservedNames + uint32(binary.LittleEndian.Uint64(sum[:])%(1<<32-ReservedNames-n.Count()))
	return n
}

// Count is how many names the job has.
func (n *Names) Count() uint64 { return uint64(n.Nodes) + NameChannels*uint64(n.Ranks) }

// Last is the last of the instances that begin with Base.
func (n *Names) Last() uint32 { return n.Base + uint32(n.Count()-1) }

// Directory is the name of a node's directory.
func (n *Names) Directory(node uint32) Address { return NameAddress(n.Kind, n.Base+node) }

// Context is the name of a context.
func (n *Names) Context(channel, rank uint32) Address {
	return NameAddress(n.Kind, n.Base+n.Nodes+channel*n.Ranks+rank)
}

// Meaning is what an instance of the job is the name of: the directory of a node, or a context.
type Meaning struct {
	Directory     bool
	Node          uint32
	Channel, Rank uint32
}

// Find returns what an instance names; ok is false if it is none of the job's.
func (n *Names) Find(instance uint32) (m Meaning, ok bool) {
	at := instance - n.Base
	switch {
	case instance < n.Base || uint64(at) >= n.Count():
		return m, false
	case at < n.Nodes:
		return Meaning{Directory: true, Node: at}, true
	}
	at -= n.Nodes
	return Meaning{Channel: at / n.Ranks, Rank: at % n.Ranks}, true
}
