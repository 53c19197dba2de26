package keys

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The casts of the package: a bucket and a count as words of their own. The index is below their
// number, and all of them are inside the mapping.

func countWord(memory []byte, group uint32) *uint32 {
	at := firstCount + group%countGroups*lineBytes
	part := memory[at : at+4]
	return (*uint32)(unsafe.Pointer(&part[0]))
}

// Operations of futex(2), between processes.
const (
	futexWait = 0
	futexWake = 1
)

// announced is how often values of the group's buckets were announced.
func announced(memory []byte, group uint32) uint32 {
	return atomic.LoadUint32(countWord(memory, group))
}

// announce counts, and wakes all who wait.
func announce(memory []byte, group uint32) {
	word := countWord(memory, group)
	atomic.AddUint32(word, 1)
	// It cannot fail: the word is there, and aligned.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, math.MaxInt32, 0, 0, 0)
}

// awaitCount sleeps while the group's count equals seen, for at most the given time; it may return
// early. The error is the system's; expected wake-ups return nil.
func awaitCount(memory []byte, group, seen uint32, timeout time.Duration) error {
	limit := unix.NsecToTimespec(timeout.Nanoseconds())
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(countWord(memory, group))), futexWait, uintptr(seen),
		uintptr(unsafe.Pointer(&limit)), 0, 0)
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ETIMEDOUT:
		return nil
	default:
		return errno
	}
}

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
