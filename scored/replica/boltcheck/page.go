package boltcheck

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/bits"
)

// Sizes and flags of the layout.
const (
	headSize    = 16 // id, flags, count, overflow
	elementSize = 16 // of branches and of leaves
	bucketSize  = 16 // root page, sequence
	metaSize    = 64 // including its checksum, the last 8 bytes

	branchPage    = 1
	leafPage      = 2
	bucketElement = 1

	metaMagic   = 0xED0CDAED
	metaVersion = 2

	minPageSize = 1 << 10
	maxPageSize = 16 << 20
)

// meta is the content of the newest valid meta page.
type meta struct {
	pageSize uint64
	root     uint64 // page
	pages    uint64 // in use or free; the file may be longer
	txid     uint64
}

// findMeta reads both meta pages. bbolt writes them in turn, so that one is valid after a power
// failure.
func findMeta(file io.ReaderAt, size int64) (meta, error) {
	best, found := readMeta(file, 0)
	sizes := []uint64{best.pageSize}
	if !found {
		sizes = sizes[:0]
		for s := uint64(minPageSize); s <= maxPageSize && s < uint64(size); s *= 2 {
			sizes = append(sizes, s)
		}
	}
	for _, s := range sizes {
		if second, ok := readMeta(file, int64(s)); ok && second.pageSize == s && (!found || second.txid > best.txid) {
			best, found = second, true
		}
	}
	if !found {
		return meta{}, fmt.Errorf("%w: it does not start as a database", ErrDamaged)
	}
	if best.pages < 4 || best.root < 2 || best.root >= best.pages {
		return meta{}, fmt.Errorf("%w: its root page %d is beyond its %d pages", ErrDamaged, best.root, best.pages)
	}
	return best, nil
}

func readMeta(file io.ReaderAt, at int64) (meta, bool) {
	var data [headSize + metaSize]byte
	if _, err := file.ReadAt(data[:], at); err != nil {
		return meta{}, false
	}
	m := data[headSize:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSize-8]) // cannot fail
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(m[at:]) }
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(m[at:]) }
	found := meta{pageSize: uint64(u32(8)), root: u64(16), pages: u64(40), txid: u64(48)}
	ok := u32(0) == metaMagic && u32(4) == metaVersion && u64(metaSize-8) == sum.Sum64() &&
		bits.OnesCount64(found.pageSize) == 1 && found.pageSize >= minPageSize && found.pageSize <= maxPageSize
	return found, ok
}

// page is one page with its overflow, or a bucket that lies in an element.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte
}

type element struct {
	flags uint32 // of leaves
	child uint64 // of branches
	key   []byte
	value []byte // of leaves
}

// at returns element i. Positions in the element are relative to its start.
func (p page) at(i int) ([]byte, bool) {
	begin := headSize + i*elementSize
	if begin+elementSize > len(p.data) {
		return nil, false
	}
	return p.data[begin:], true
}

func (p page) branchElement(i int) (e element, ok bool) {
	from, ok := p.at(i)
	if !ok {
		return e, false
	}
	e.child = binary.LittleEndian.Uint64(from[8:])
	e.key, ok = part(from, binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[4:]))
	return e, ok
}

func (p page) leafElement(i int) (e element, ok bool) {
	from, ok := p.at(i)
	if !ok {
		return e, false
	}
	e.flags = binary.LittleEndian.Uint32(from)
	position, keySize, valueSize := binary.LittleEndian.Uint32(from[4:]), binary.LittleEndian.Uint32(from[8:]), binary.LittleEndian.Uint32(from[12:])
	if e.key, ok = part(from, position, keySize); !ok {
		return e, false
	}
	e.value, ok = part(from, position+keySize, valueSize)
	return e, ok
}

// part returns size bytes at a position; false: out of range.
func part(from []byte, position, size uint32) ([]byte, bool) {
	if position < elementSize || uint64(position)+uint64(size) > uint64(len(from)) {
		return nil, false
	}
	return from[position : position+size : position+size], true
}
