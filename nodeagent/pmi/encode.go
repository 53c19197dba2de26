package pmi

import (
	"encoding/binary"
)

// The data of a fence is one block per node, in any order:
//
//	block := length rest            length of rest in bytes
//	rest  := version kind job node seq (keys | rings)
//	keys  := n n*key m m*set        the table of distinct keys, then the sets
//	key   := shared own bytes       length shared with the key before, own length
//	set   := rank p p*(index value) rank counted from the one before, plus one
//	value := size bytes             size*2, or size*2+1 for packed hex digits
//	rings := n n*(rank count left right)
//
// All numbers are unsigned LEB128, which for the small numbers here takes one
// byte. Keys of one program share long beginnings, and MPICH's cards are hex
// digits: coded so, the exchange of its init takes about half the bytes.
const blockVersion = 1

// maxHeader is room for the length before a block, filled in afterwards.
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

// closeBlock writes the length in front and closes the gap it leaves.
func closeBlock(dst []byte, start int) []byte {
	var length [maxHeader]byte
	body := dst[start+maxHeader:]
	n := binary.PutUvarint(length[:], uint64(len(body)))
	copy(dst[start:], length[:n])
	copy(dst[start+n:], body)
	return dst[:start+n+len(body)]
}

// appendSets appends the staged keys of all ranks of this node.
func (e *Engine) appendSets(dst []byte) []byte {
	before := len(dst)
	index := make(map[string]uint64)
	var table []string
	sets := 0
	for i := range e.ranks {
		if len(e.leaving(i)) > 0 {
			sets++
		}
		for _, key := range e.leaving(i) {
			if _, ok := index[key]; !ok {
				index[key] = uint64(len(table))
				table = append(table, key)
			}
		}
	}
	dst = appendKeys(dst, table)
	dst = binary.AppendUvarint(dst, uint64(sets))
	next := 0
	for i, rank := range e.local {
		staged := e.leaving(i)
		if len(staged) == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(rank-next))
		next = rank + 1
		dst = binary.AppendUvarint(dst, uint64(len(staged)))
		for _, key := range staged {
			value := e.outgoing(rank, key)
			dst = binary.AppendUvarint(dst, index[key])
			dst = appendValue(dst, value)
			// As text a pair takes its key, its value and two separators.
			e.stats.RawBytes += uint64(len(key) + len(value) + 2)
		}
	}
	e.stats.EncodedBytes += uint64(len(dst) - before)
	return dst
}

// leaving lists the keys that the i-th local rank gives to the present fence.
func (e *Engine) leaving(i int) []string {
	if e.fence.kind != kindCards {
		return e.ranks[i].staged
	}
	if !e.fence.collect {
		return nil
	}
	return e.ranks[i].fresh
}

// outgoing is the value of such a key.
func (e *Engine) outgoing(rank int, key string) string {
	if e.fence.kind == kindCards {
		value, _ := e.store.visible(int32(rank), key, false)
		return value
	}
	return e.store.sets[setKey{int32(rank), ScopeGlobal, key}].staged
}

func appendKeys(dst []byte, table []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(table)))
	last := ""
	for _, key := range table {
		shared := 0
		for shared < min(len(last), len(key)) && last[shared] == key[shared] {
			shared++
		}
		dst = binary.AppendUvarint(dst, uint64(shared))
		dst = appendText(dst, key[shared:])
		last = key
	}
	return dst
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

// appendValue packs values that are capital hex digits two to a byte.
func appendValue(dst []byte, value string) []byte {
	if !isHex(value) {
		dst = binary.AppendUvarint(dst, uint64(len(value))<<1)
		return append(dst, value...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(value))<<1|1)
	for i := 0; i < len(value); i += 2 {
		dst = append(dst, nibble(value[i])<<4|nibble(value[i+1]))
	}
	return dst
}

func isHex(value string) bool {
	if len(value) == 0 || len(value)%2 != 0 {
		return false
	}
	for i := range len(value) {
		if nibble(value[i]) > 0xf {
			return false
		}
	}
	return true
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
