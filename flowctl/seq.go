package flowctl

// Seq is the number of a frame among all that a sender sends to one receiver.
type Seq uint32

// Tx is the number of a transmission: a frame that is sent again keeps its Seq and gets a new Tx.
type Tx uint32

// Both are counted modulo 2^32 and compared as in RFC 1982. The comparison holds for numbers less
// than 2^31 apart. A frame would have to lie in the network while 2^31 others pass, which takes
// minutes at the highest rates; networks hold a frame for milliseconds.

// after reports whether a comes later than b.
func after[N Seq | Tx](a, b N) bool { return int32(a-b) > 0 }

// Before reports whether frame s comes before frame t.
func (s Seq) Before(t Seq) bool { return after(t, s) }

// distance returns how many numbers lie from a up to b, which is not before a.
func distance[N Seq | Tx](a, b N) uint32 { return uint32(b - a) }

// maxLag bounds how far a remembered transmission number may fall behind the
// newest before it is pulled along, a quarter of the circle, so that it never
// comes to look like one of the future.
const maxLag = 1 << 30

// pulled returns mark, or the oldest number that is safe to compare with newest.
func pulled(mark, newest Tx) Tx {
	if int32(newest-mark) > maxLag {
		return newest - maxLag
	}
	return mark
}
