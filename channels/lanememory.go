package channels

import "sync/atomic"

// LaneMemory is how many bytes the lanes of some contexts may have together: those of one process.
// A lane counts from when its context's inbox offers it until it is withheld again. A nil
// LaneMemory has no limit.
type LaneMemory struct {
	free  atomic.Int64
	short atomic.Bool // an inbox has senders that want lanes, and found no bytes
}

// NewLaneMemory makes a LaneMemory of that many bytes.
func NewLaneMemory(bytes int64) *LaneMemory {
	m := &LaneMemory{}
	m.free.Store(bytes)
	return m
}

// take takes bytes, if there are as many. If there are not, the other inboxes are asked for some.
func (m *LaneMemory) take(bytes uint32) bool {
	if m == nil {
		return true
	}
	for {
		free := m.free.Load()
		if free < int64(bytes) {
			m.short.Store(true)
			return false
		}
		if m.free.CompareAndSwap(free, free-int64(bytes)) {
			return true
		}
	}
}

// charge takes bytes that are in use already.
func (m *LaneMemory) charge(bytes uint32) {
	if m != nil {
		m.free.Add(-int64(bytes))
	}
}

// put gives bytes back.
func (m *LaneMemory) put(bytes uint32) {
	if m != nil {
		m.free.Add(int64(bytes))
		m.short.Store(false)
	}
}

// isShort reports whether an inbox found too little.
func (m *LaneMemory) isShort() bool { return m != nil && m.short.Load() }
