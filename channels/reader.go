package channels

import (
	"sync/atomic"
	"time"
)

// reader is the reading end of a ring. Only the process that owns the context reads.
type reader struct {
	ring
	next     *uint64 // commit word at the cursor
	headWord *uint64
	cursor   uint64 // lines met, ever
	head     uint64 // lines given back, ever
	writer   uint32 // lowest rank that may write here
	writers  uint32 // how many ranks from there may
	shared   bool
	since    time.Time // when the record at the cursor was first found unfinished
}

func newReader(r ring, headWord *uint64, writer, writers uint32) *reader {
	head := atomic.LoadUint64(headWord)
	return &reader{ring: r, headWord: headWord, cursor: head, head: head, next: r.commit(head), writer: writer, writers: writers}
}

// pass moves the cursor over a record of n lines.
func (r *reader) pass(n uint64) {
	r.cursor += n
	r.next = r.commit(r.cursor)
}

// drop passes a record that is of no use to anybody and gives it back.
func (r *reader) drop(n uint64) {
	pos := r.cursor
	r.pass(n)
	r.giveBack(pos, n)
}

// holds reports whether the position was handed out and not all of it given back.
func (r *reader) holds(pos uint64) bool { return pos-r.head < r.cursor-r.head }

// giveBack gives lines back. While older ones are kept, the writer cannot have
// these, so they are only marked.
func (r *reader) giveBack(pos, n uint64) {
	if pos != r.head {
		atomic.StoreUint32(r.mark(pos), 1)
		return
	}
	r.head += n
	if r.head != r.cursor {
		r.skipMarked()
	}
	publish(r.headWord, r.head)
}

// skipMarked gives back what was marked before.
func (r *reader) skipMarked() {
	for r.head != r.cursor && atomic.LoadUint32(r.mark(r.head)) == 1 {
		r.head += r.linesAt(r.head)
	}
}

// linesAt is the size of a record that was passed before. The words are read
// again, so they may have become anything; the answer stays below the cursor.
func (r *reader) linesAt(pos uint64) uint64 {
	n := linesOf(r.ring, pos, atomic.LoadUint64(r.commit(pos)))
	return min(n, r.cursor-pos)
}
