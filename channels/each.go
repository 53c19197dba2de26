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
		length, pos := int(word&abi.MaxLength), r.cursor
		lines := abi.Lines(length)
		r.pass(lines)
		in.count(length)
		f(int(word>>32), r.bytes(pos, length))
		if in.closed {
			return n + 1 // by f
		}
		in.free(r, pos, lines)
	}
	return n
}
