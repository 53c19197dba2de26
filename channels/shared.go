package channels

import (
	"score/channels/abi"
	"score/channels/release"
	"sync/atomic"
)

// The shared ring has many writers. Tail is lock and position in one word: a
// writer enters its rank, writes a record that says "reserved" with length and
// rank, and moves the position, which gives the lock back. Then it copies, and
// commits. Records at or beyond the position do not exist, whatever is written
// there; so a writer that died with its rank in the word has done nothing, and
// the next one just takes its place.

// fields of abi.Shared.Tail
const (
	tailShift = 24
	rankMask  = 1<<tailShift - 1
	posMask   = 1<<(64-tailShift) - 1
)

const (
	// lockSpins is how often a writer looks before it lets others run: several
	// times what the holder needs for its dozen stores.
	lockSpins = 200
	// lockNaps bounds the whole attempt. After them the writer checks whether the holder lives. If
	// it does, it is stopped, and the error is ErrFull.
	lockNaps = 20
)

// sharedWriter is one sender's way into the shared ring.
type sharedWriter struct {
	ring
	head *uint64
	tail *uint64
	rank uint32
	dead func(rank uint32) bool
}

// reserve takes room for a message of n lines and returns its position.
func (w *sharedWriter) reserve(length int) (pos uint64, ok bool) {
	pos, ok = w.lock()
	if !ok {
		return 0, false
	}
	n := abi.Lines(length)
	pad := uint64(0)
	if left := w.left(pos); n > left {
		pad = left
	}
	used := (pos - atomic.LoadUint64(w.head)) & posMask
	if used > w.lines() || used+pad+n >= w.lines() {
		w.unlock(pos)
		return 0, false
	}
	end := pos + pad + n
	release.Store64(w.commit(end), 0)
	release.Store64(w.commit(pos+pad), abi.Commit(length, abi.KindReserved, w.rank))
	if pad > 0 {
		w.clear(pos, 0)
		release.Store64(w.commit(pos), abi.Commit(0, abi.KindPad, w.rank))
	}
	w.unlock(end)
	return (pos + pad) & posMask, true
}

// publishAt commits the reserved message.
func (w *sharedWriter) publishAt(pos, word uint64, progress uint32) {
	w.clear(pos, progress)
	publish(w.commit(pos), word)
}

// lock enters the rank into the tail and returns the position.
func (w *sharedWriter) lock() (pos uint64, ok bool) {
	mine := uint64(w.rank) + 1
	for naps := 0; ; naps++ {
		for range lockSpins {
			word := atomic.LoadUint64(w.tail)
			if word&rankMask == 0 && atomic.CompareAndSwapUint64(w.tail, word, word|mine) {
				return word >> tailShift, true
			}
		}
		if naps == lockNaps {
			return w.takeOver()
		}
		Nap()
	}
}

// takeOver takes the lock from a holder that died.
func (w *sharedWriter) takeOver() (pos uint64, ok bool) {
	word := atomic.LoadUint64(w.tail)
	holder := word & rankMask
	if holder == 0 || !w.dead(uint32(holder-1)) {
		return 0, false
	}
	ok = atomic.CompareAndSwapUint64(w.tail, word, word&^uint64(rankMask)|uint64(w.rank)+1)
	return word >> tailShift, ok
}

func (w *sharedWriter) unlock(pos uint64) { atomic.StoreUint64(w.tail, pos<<tailShift) }

// largest is the length of the longest message up to limit that would fit now, or -1. Others
// write too, so the answer may be late.
func (w *sharedWriter) largest(limit int) int {
	pos := atomic.LoadUint64(w.tail) >> tailShift
	used := (pos - atomic.LoadUint64(w.head)) & posMask
	if used+1 >= w.lines() {
		return -1
	}
	free, left := w.lines()-used-1, w.left(pos)
	n := min(free, left)
	if free > left {
		n = max(n, free-left)
	}
	return min(int(n*abi.LineBytes-abi.RecordBytes), limit)
}
