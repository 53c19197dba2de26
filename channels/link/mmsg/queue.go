package mmsg

import "score/channels/link"

const (
	// Batch bounds the datagrams of one flush. It is the number of segments that every kernel with
	// UDP_SEGMENT takes at once.
	Batch = 64
	// SlotBytes is the longest thing that one call receives, and then some, so that the first bytes of
	// several slots are not all in the same set of a cache.
	SlotBytes = 65536 + 9*lineBytes

	// ArenaBytes bounds the bytes of one flush: a few of the longest datagrams, and little enough to
	// stay in a second-level cache between the writer and the kernel.
	ArenaBytes = 4 * 65536
	// lineBytes: datagrams start at cache lines.
	lineBytes = 64
)

// Queue holds the datagrams of one flush. The zero Queue is empty, and has no memory yet.
type Queue struct {
	Count int
	To    [Batch]link.Address
	Data  [Batch][]byte

	arena []byte
	used  int // of the arena
}

// Full reports whether there is no room for the longest datagram.
func (q *Queue) Full() bool {
	return q.Count == Batch || q.arena != nil && q.used > len(q.arena)-link.MaxDatagram
}

// Buffer returns the room of the next datagram, of a queue that is not full.
func (q *Queue) Buffer() []byte {
	if q.arena == nil {
		q.arena = make([]byte, ArenaBytes)
	}
	return q.arena[q.used : q.used+link.MaxDatagram : q.used+link.MaxDatagram]
}

// Add makes the first n bytes of the last Buffer a datagram; nothing if n is 0.
func (q *Queue) Add(to link.Address, n int) {
	if n == 0 {
		return
	}
	q.Data[q.Count] = q.arena[q.used : q.used+n]
	q.To[q.Count] = to
	q.Count++
	q.used += (n + lineBytes - 1) &^ (lineBytes - 1)
}

// Reset empties the queue.
func (q *Queue) Reset() { q.Count, q.used = 0, 0 }
