package keys

import (
	"sync/atomic"
	"unsafe"
)

// The one cast of the package: a bucket as a word of its own. The index is below the number of buckets, all of which are
// inside the mapping.

func bucketWord(memory []byte, bucket uint32) *uint32 {
	at := headBytes + uint64(bucket)*bucketBytes
	part := memory[at : at+bucketBytes]
	return (*uint32)(unsafe.Pointer(&part[0]))
}

// newest is the place of a bucket's newest record. Whoever reads it sees the record whole.
func newest(memory []byte, bucket uint32) uint32 {
	return atomic.LoadUint32(bucketWord(memory, bucket))
}

// publish makes a record its bucket's newest.
func publish(memory []byte, bucket, place uint32) {
	atomic.StoreUint32(bucketWord(memory, bucket), place)
}
