package main

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// twoLocks are the 2N locks with which libpmix's shared store keeps many readers from each other: a
// pair for each reader, so that readers never meet, and the writer takes them all. The first of a
// pair is for entering, so that a writer that waits is not passed by. They lie in memory that
// processes share.
type twoLocks struct {
	memory []byte
	n      int
}

const (
	// lockStride keeps the locks of different readers on cache lines of their own.
	lockStride = 128
	lockSecond = 64
)

// newTwoLocks finds the locks of n readers in memory of lockStride bytes for each.
func newTwoLocks(memory []byte, n int) *twoLocks { return &twoLocks{memory: memory, n: n} }

func (l *twoLocks) word(reader, offset int) *uint32 {
	part := l.memory[reader*lockStride+offset : reader*lockStride+offset+4]
	return (*uint32)(unsafe.Pointer(&part[0]))
}

// read lets a reader read.
func (l *twoLocks) read(reader int, f func()) {
	enter, inside := l.word(reader, 0), l.word(reader, lockSecond)
	lockWord(enter)
	lockWord(inside)
	unlockWord(enter)
	f()
	unlockWord(inside)
}

// write lets the writer write, once no reader reads.
func (l *twoLocks) write(f func()) {
	for _, offset := range [...]int{0, lockSecond} {
		for i := range l.n {
			lockWord(l.word(i, offset))
		}
	}
	f()
	for _, offset := range [...]int{lockSecond, 0} {
		for i := range l.n {
			unlockWord(l.word(i, offset))
		}
	}
}

// Operations of futex(2).
const (
	futexWait = 0
	futexWake = 1
)

// The states of a lock, as a mutex of glibc's has them.
const (
	lockFree = iota
	lockHeld
	lockAwaited
)

func lockWord(w *uint32) {
	if atomic.CompareAndSwapUint32(w, lockFree, lockHeld) {
		return
	}
	for atomic.SwapUint32(w, lockAwaited) != lockFree {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, lockAwaited, 0, 0, 0)
	}
}

func unlockWord(w *uint32) {
	if atomic.SwapUint32(w, lockFree) == lockAwaited {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWake, 1, 0, 0, 0)
	}
}
