package flowctl

// Sequence numbers and transmission numbers are counted modulo 2^32 and compared
// as in RFC 1982. The comparison holds for numbers less than 2^31 apart: a frame
// would have to lie in the network while 2^31 others pass, minutes at the highest
// rates, where milliseconds are what networks hold a frame.

// after reports whether a comes later than b.
func after(a, b uint32) bool { return int32(a-b) > 0 }

// maxLag bounds how far a remembered transmission number may fall behind the
// newest before it is pulled along, a quarter of the circle, so that it never
// comes to look like one of the future.
const maxLag = 1 << 30

// pulled returns mark, or the oldest number that is safe to compare with newest.
func pulled(mark, newest uint32) uint32 {
	if int32(newest-mark) > maxLag {
		return newest - maxLag
	}
	return mark
}
