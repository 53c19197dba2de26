package channels

import (
	"score/channels/abi"
	"sync/atomic"
	"time"
)

// stuckAfter is how long a record may stay unfinished before the reader checks whether its writer
// lives: far longer than the longest copy takes.
const stuckAfter = time.Millisecond

// takeGrowing takes a message whose tail is still being written, if that is wanted or it
// is complete by now.
func (in *Inbox) takeGrowing(r *reader, word uint64) (Message, bool) {
	length, _, rank := abi.Uncommit(word)
	there := atomic.LoadUint32(r.progress(r.cursor))
	if there == abi.ProgressLost || !in.overlap && int(there) < length && in.writerLost(r, rank) {
		in.discard(r, length)
		return Message{}, false
	}
	if !in.overlap && int(there) < length {
		return Message{}, false
	}
	return in.deliver(r, word), true
}

// discard drops a message that nobody will finish.
func (in *Inbox) discard(r *reader, length int) {
	in.img.count(abi.Voided, 1)
	r.drop(abi.Lines(length))
}

// writerLost reports whether the writer of an unfinished record surely died.
func (in *Inbox) writerLost(r *reader, rank uint32) bool {
	in.stuck = true
	now := time.Now()
	if r.since.IsZero() {
		r.since = now
		return false
	}
	if now.Sub(r.since) < stuckAfter {
		return false
	}
	r.since = now
	if !in.img.writerDead(rank) {
		return false
	}
	r.since = time.Time{}
	return true
}

// Lost reports whether the tail of a message will never come, since its writer died. Its head, too,
// is no longer to be used.
func (in *Inbox) Lost(m Message) bool {
	return m.growing() && m.Available() < m.Len() && in.lost(m) && m.Available() < m.Len()
}

func (in *Inbox) lost(m Message) bool {
	return m.progress() == abi.ProgressLost || in.writerLost(m.from, m.Rank())
}

// Stuck reports whether the reader met a record that its writer has not finished, so that a sleep
// should be short. It asks again with every call.
func (in *Inbox) Stuck() bool {
	was := in.stuck
	in.stuck = false
	return was
}
