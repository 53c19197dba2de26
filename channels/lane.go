package channels

import (
	"score/channels/abi"
	"score/channels/release"
	"sync/atomic"
)

// laneWriter is the writing end of a ring with one writer.
//
// The reader never writes into the ring: it knows that a record is there by a
// commit word that is not zero. So the writer keeps the word after its last record
// zero, and does that early, off the way of the next message: the commit words of the
// lines in [tail, clean) are zero.
type laneWriter struct {
	ring
	head  *uint64 // the reader's progress, in the image
	tail  uint64  // lines written, ever
	freed uint64  // copy of head: never more than the true one
	clean uint64
	rank  uint32 // in the records
}

func newLaneWriter(r ring, head *uint64, tail uint64, rank uint32) laneWriter {
	w := laneWriter{ring: r, head: head, tail: tail, freed: tail - r.lines(), clean: tail + 1, rank: rank}
	w.updateRead()
	return w
}

// fits reports whether a message of n lines can be written at the tail, and pads to the
// end of the memory if that is what it takes.
func (w *laneWriter) fits(n uint64) bool {
	if left := w.left(w.tail); n > left {
		if !w.room(left) {
			return false
		}
		w.pad(left)
	}
	return w.room(n)
}

// pad fills what is left of the memory, so that the next record is at its start.
func (w *laneWriter) pad(left uint64) { w.commitRecord(abi.Commit(0, abi.KindPad, w.rank), left, 0) }

// rewind pads to the end of the memory if the reader has all that was written.
func (w *laneWriter) rewind() bool {
	w.updateRead()
	left := w.left(w.tail)
	if w.used() != 0 || left == w.lines() {
		return false
	}
	w.pad(left)
	return true
}

// room reports whether n lines are free, and one that stays empty behind them.
func (w *laneWriter) room(n uint64) bool {
	if w.used()+n < w.lines() {
		return true
	}
	w.updateRead()
	return w.used()+n < w.lines()
}

// full reports whether the writer must check how far the reader has come before the next line.
func (w *laneWriter) full() bool { return w.used()+1 >= w.lines() }

// updateRead reads how far the reader has come, and ignores an impossible value.
func (w *laneWriter) updateRead() {
	if head := atomic.LoadUint64(w.head); w.tail-head <= w.lines() {
		w.freed = head
	}
}

func (w *laneWriter) used() uint64 { return w.tail - w.freed }

// largest is the length of the longest message that fits now, or -1.
func (w *laneWriter) largest() int {
	w.updateRead()
	used := w.used()
	if used+1 >= w.lines() {
		return -1
	}
	free := w.lines() - used - 1
	n := min(free, w.left(w.tail))
	if free > w.left(w.tail) {
		n = max(n, free-w.left(w.tail)) // after a pad
	}
	return int(n*abi.LineBytes - abi.RecordBytes)
}

// payload is where a message of the length goes; fits must have said yes.
func (w *laneWriter) payload(length int) []byte { return w.bytes(w.tail, length) }

// commitRecord makes the record at the tail visible.
func (w *laneWriter) commitRecord(word, n uint64, progress uint32) {
	w.clear(w.tail, progress)
	if end := w.tail + n; w.clean <= end {
		release.Relaxed64(w.commit(end), 0)
		w.clean = end + 1
	}
	w.publishTail(word, n)
}

// commitLine is commitRecord for a record that putLine wrote, without calls.
func (w *laneWriter) commitLine(word uint64) {
	end := w.tail + 1
	if w.clean <= end {
		release.Relaxed64(w.commit(end), 0)
		w.clean = end + 1
	}
	publish(w.commit(w.tail), word)
	w.tail = end
	w.cleanNext()
}

// publishTail publishes n lines, and cleans what comes next.
func (w *laneWriter) publishTail(word, n uint64) {
	publish(w.commit(w.tail), word)
	w.tail += n
	w.cleanNext()
}

// cleanNext cleans the line behind the one at the tail, if it is free.
func (w *laneWriter) cleanNext() {
	if next := w.tail + 1; w.clean == next && next-w.freed < w.lines() {
		release.Relaxed64(w.commit(next), 0)
		w.clean++
	}
}
