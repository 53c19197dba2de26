package mmsg

import "score/channels/link"

const (
	// Batch bounds the datagrams of one flush. It is the number of segments that every kernel with
	// UDP_SEGMENT takes at once.
	Batch = 64
	// SlotBytes is the most that one call receives, and some lines more, so that the first bytes of
	// the slots fall into different sets of a cache.
	SlotBytes = 65536 + 9*lineBytes

	// ArenaBytes bounds the bytes of one flush: a few of the longest datagrams, and little enough
	// to stay in a second-level cache between the writer and the kernel.
	ArenaBytes = 4 * 65536
	// lineBytes: datagrams start at cache lines.
	lineBytes = 64
)

// Queue holds the datagrams of one flush. The zero Queue is empty, and has no memory yet.
type Queue struct {
	Count int
	To    [Batch]link.Address
	Data  [Batch][]byte
	Tail  [Batch][]byte // of each, what follows in other memory

	arena    []byte
	used     int    // of the arena
	borrowed int    // bytes of all tails
	tail     []byte // of the next datagram
}

// Full reports whether there is no room for the longest datagram.
func (q *Queue) Full() bool {
	return q.Count == Batch || q.used+q.borrowed > ArenaBytes-link.MaxDatagram
}

// Buffer returns the room of the next datagram, which has no tail yet, of a queue that is not full.
func (q *Queue) Buffer() []byte {
	if q.arena == nil {
		q.arena = make([]byte, ArenaBytes)
	}
	q.tail = nil
	return q.arena[q.used : q.used+link.MaxDatagram : q.used+link.MaxDatagram]
}

// Borrow gives the next datagram a tail.
func (q *Queue) Borrow(data []byte) { q.tail = data }

// Bytes returns the length of the datagram with the index.
func (q *Queue) Bytes(i int) int { return len(q.Data[i]) + len(q.Tail[i]) }

// Add makes the first n bytes of the last Buffer, and the tail, a datagram; nothing if n is 0.
func (q *Queue) Add(to link.Address, n int) {
	if n == 0 {
		return
	}
	q.Data[q.Count] = q.arena[q.used : q.used+n]
	q.Tail[q.Count], q.tail = q.tail, nil
	q.borrowed += len(q.Tail[q.Count])
	q.To[q.Count] = to
	q.Count++
	q.used += (n + lineBytes - 1) &^ (lineBytes - 1)
}

// Borrows reports whether any datagram has a tail.
func (q *Queue) Borrows() bool { return q.borrowed > 0 }

// Reset empties the queue. It keeps no pointer to others' memory.
func (q *Queue) Reset() {
	if q.Borrows() {
		clear(q.Tail[:q.Count])
	}
	q.Count, q.used, q.borrowed = 0, 0, 0
}
