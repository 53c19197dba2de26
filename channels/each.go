package channels

import (
	"score/channels/abi"
	"sync/atomic"
)

// Each calls f with each whole message that lies behind the last one, at most limit of them, and
// gives it back when f returns. It returns how many these were. Where it stops before, Poll says
// what is there: nothing, or something else, or it is the turn of another sender. The bytes are
// valid until f returns.
func (in *Inbox) Each(limit int, f func(rank int, data []byte)) (n int) {
	for ; n < limit; n++ {
		r := in.hot
		word := atomic.LoadUint64(r.next)
		if word == 0 || uint8(word>>24) != abi.KindData || in.taken == in.turnAt || !in.plausible(r, word) {
			break
		}
		m := in.deliver(r, word)
		f(int(m.Rank()), m.Whole())
		if in.closed {
			return n + 1 // by f
		}
		_ = in.Release(m) // it was handed out, and came whole
	}
	return n
}
