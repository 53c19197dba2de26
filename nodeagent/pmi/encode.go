package pmi

import (
	"encoding/binary"
	"score/nodeagent/pmi/kvpack"
)

// The data of a fence is one block per node, in any order:
//
//	block := length rest            length of rest in bytes
//	rest  := version kind job node seq (sets | rings)
//	sets  := nothing, or the keys and values of the node's ranks as package kvpack packs them
//	rings := n n*(rank count left right)
//
// All numbers are unsigned LEB128, which takes one byte for small numbers. A rank is written as the
// difference from the previous rank plus one.
const blockVersion = 2

// maxHeader is the room for the length before a block, which is written last.
const maxHeader = binary.MaxVarintLen32

// appendBlock appends this node's block.
func (e *Engine) appendBlock(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, maxHeader)...)
	dst = append(dst, blockVersion, byte(e.fence.kind))
	dst = binary.AppendUvarint(dst, e.info.Job)
	dst = binary.AppendUvarint(dst, uint64(e.info.NodeIndex))
	dst = binary.AppendUvarint(dst, e.fence.seq)
	if e.fence.kind == kindRing {
		dst = e.appendRings(dst)
	} else {
		dst = e.appendSets(dst)
	}
	return closeBlock(dst, start)
}

// closeBlock writes the length in front and closes the gap behind it.
func closeBlock(dst []byte, start int) []byte {
	var length [maxHeader]byte
	body := dst[start+maxHeader:]
	n := binary.PutUvarint(length[:], uint64(len(body)))
	copy(dst[start:], length[:n])
	copy(dst[start+n:], body)
	return dst[:start+n+len(body)]
}

// appendSets appends the keys and values that all ranks of this node give; nothing if there are
// none.
func (e *Engine) appendSets(dst []byte) []byte {
	before := len(dst)
	var pack *kvpack.Pack
	for i, rank := range e.local {
		for _, key := range e.outgoingKeys(i) {
			if pack == nil {
				pack = kvpack.NewPack(e.fence.size)
			}
			pack.Add(rank, key, e.outgoingValue(rank, key))
		}
	}
	if pack == nil {
		return dst
	}
	dst = pack.Append(dst)
	e.stats.PlainBytes += uint64(pack.PlainBytes())
	e.stats.PackedBytes += uint64(len(dst) - before)
	return dst
}

// outgoingKeys lists the keys that the i-th local rank gives to the present fence.
func (e *Engine) outgoingKeys(i int) []string {
	if e.fence.kind != kindCards && !e.ranks[i].inFence {
		return nil
	}
	if e.fence.kind != kindCards {
		return e.ranks[i].staged
	}
	if !e.fence.collect {
		return nil
	}
	return e.ranks[i].fresh
}

// outgoingValue returns the value of such a key.
func (e *Engine) outgoingValue(rank int, key string) string {
	if e.fence.kind == kindCards {
		value, _ := e.store.visible(int32(rank), key, ScopeRemote)
		return value
	}
	return e.store.sets[setKey{int32(rank), ScopeGlobal, key}].staged
}

func appendText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

func (e *Engine) appendRings(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(e.local)))
	next := 0
	for i, rank := range e.local {
		dst = binary.AppendUvarint(dst, uint64(rank-next))
		next = rank + 1
		ring := &e.ranks[i].ring
		dst = binary.AppendVarint(dst, ring.Count)
		dst = appendText(dst, ring.Left)
		dst = appendText(dst, ring.Right)
	}
	return dst
}
