package keys

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The file: a head, the buckets, the records. Numbers are of the machine's own order; all is at
// multiples of 8 bytes.
//
//	head      magic 4 · ranks 4 · buckets 4 · zero 4 · bytes of the file 8 · zeros · counts, to one page
//	count     how often values of some buckets were announced, 4, in a cache line of its own
//	bucket    place of the newest record, in units of 8 bytes; 0: none
//	record    next 4 (the record before in this bucket) · rank 4 · hash 4 · length of the key 4 ·
//	          length of the value 4 · zero 4 · key, value
const (
	magic       = 0x3153594b // "KYS1"
	headBytes   = 4096
	bucketBytes = 4
	unit        = 8
	recordBytes = 24
	// Counts stand at firstCount, countGroups of them: bucket b's is b modulo their number. Who
	// waits for a value is woken by those of a sixteenth of all others.
	firstCount  = 1024
	countGroups = 16
	lineBytes   = 64
)

const (
	// MaxRanks bounds the ranks of a job (pmi.MaxRanks).
	MaxRanks = 1 << 20
	// MaxKey and MaxValue are the longest there may be, in bytes: the longest key of PMIx, and what
	// a rank may store.
	MaxKey   = 511
	MaxValue = 16 << 20
	// perRank is the room for each rank's records, with minData and maxData as bounds for all:
	// addresses of a few KB, some of them written again. Unused room takes no memory.
	perRank = 64 << 10
	minData = 16 << 20
	maxData = 1 << 30
)

// Errors of the package.
var (
	// ErrFull: there is no room for a value.
	ErrFull = errors.New("keys: the node's store of keys is full")
	// ErrTooLong: a key or value has more bytes than there may be, or the key none.
	ErrTooLong = errors.New("keys: the key or its value is too long")
	// ErrRank: there is no such rank.
	ErrRank = errors.New("keys: no such rank")
	// ErrDamaged: the file is no store, or one that can still be changed by others.
	ErrDamaged = errors.New("keys: not a store of keys")
)

// geometry is where things are in a file.
type geometry struct {
	ranks, buckets uint32
	bytes          uint64
}

// plan returns the geometry for a number of ranks: two buckets for each, since a rank has a few
// keys.
func plan(ranks int) geometry {
	buckets := uint32(1) << bits.Len32(uint32(max(2*ranks, 512)-1))
	data := min(max(uint64(ranks)*perRank, minData), maxData)
	return geometry{ranks: uint32(ranks), buckets: buckets, bytes: headBytes + uint64(buckets)*bucketBytes + data}
}

// first is where records begin.
func (g *geometry) first() uint64 { return headBytes + uint64(g.buckets)*bucketBytes }

func (g *geometry) encode(head []byte) {
	binary.NativeEndian.PutUint32(head[0:], magic)
	binary.NativeEndian.PutUint32(head[4:], g.ranks)
	binary.NativeEndian.PutUint32(head[8:], g.buckets)
	binary.NativeEndian.PutUint64(head[16:], g.bytes)
}

// decode reads a head; the geometry must be the one that such a file has.
func decode(head []byte, size int64) (geometry, error) {
	if len(head) < headBytes || binary.NativeEndian.Uint32(head) != magic {
		return geometry{}, ErrDamaged
	}
	ranks := binary.NativeEndian.Uint32(head[4:])
	if ranks == 0 || ranks > MaxRanks {
		return geometry{}, ErrDamaged
	}
	g := plan(int(ranks))
	if g.buckets != binary.NativeEndian.Uint32(head[8:]) || g.bytes != binary.NativeEndian.Uint64(head[16:]) || int64(g.bytes) != size {
		return geometry{}, ErrDamaged
	}
	return g, nil
}

// hash mixes a rank and a key, eight bytes at a time. The multipliers are odd and have about as
// many ones as zeros.
func hash(rank uint32, key string) uint32 {
	const spread, finish = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := (uint64(rank) + 1) * spread
	for len(key) >= 8 {
		h = (h ^ word(key)) * finish
		h ^= h >> 29
		key = key[8:]
	}
	tail := uint64(len(key)) << 56
	for i := range len(key) {
		tail |= uint64(key[i]) << (8 * i)
	}
	h = (h ^ tail) * finish
	return uint32(h ^ h>>32)
}

// word is the first eight bytes of a text.
func word(s string) uint64 {
	_ = s[7] // one check of the bound for all that follow
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// padded is what a record takes.
func padded(key, value int) uint64 {
	return (recordBytes + uint64(key) + uint64(value) + unit - 1) &^ (unit - 1)
}
