package state

import "math/bits"

// DefaultHalfLife is the time in nanoseconds after which half of a user's past usage is forgotten:
// a week, so that a busy month does not shut anybody out of the next.
const DefaultHalfLife = 7 * 24 * 3600 * 1_000_000_000

// halves[k] is 2^(-1/2^(k+1)) in units of 2^-64, rounded down: the factor by which an amount falls
// in 1/2^(k+1) of a half-life.
var halves = [32]uint64{
	0xb504f333f9de6484, 0xd744fccad69d6af4, 0xeac0c6e7dd24392e, 0xf5257d152486cc2c,
	0xfa83b2db722a033a, 0xfd3e0c0cf486c174, 0xfe9e115c7b8f884b, 0xff4ecb59511ec8a5,
	0xffa756521c8daed1, 0xffd3a751c0f7e10b, 0xffe9d2b2f7db2755, 0xfff4e91bff1b8c3d,
	0xfffa747ea0040664, 0xfffd3a3b7814eb53, 0xfffe9d1cc60ddab1, 0xffff4e8e25879bfa,
	0xffffa7470363f451, 0xffffd3a37dda0313, 0xffffe9d1bdf703ae, 0xfffff4e8debe025e,
	0xfffffa746f4fa150, 0xfffffd3a37a3f8b0, 0xfffffe9d1bd1065a, 0xffffff4e8de845ad,
	0xffffffa746f41376, 0xffffffd3a37a05e3, 0xffffffe9d1bd01fb, 0xfffffff4e8de80c0,
	0xfffffffa746f4050, 0xfffffffd3a37a024, 0xfffffffe9d1bd011, 0xffffffff4e8de808,
}

// decay returns what is left of an amount after elapsed nanoseconds, rounded down. It uses only
// integers, so every server gets the same result.
func decay(amount uint64, elapsed, halfLife int64) uint64 {
	if elapsed <= 0 || halfLife <= 0 || amount == 0 {
		return amount
	}
	whole, part := elapsed/halfLife, elapsed%halfLife
	if whole >= 64 {
		return 0
	}
	amount >>= uint(whole)
	// part of a half-life as a fraction of 32 bits; part < halfLife.
	hi, lo := bits.Mul64(uint64(part), 1<<32)
	fraction, _ := bits.Div64(hi, lo, uint64(halfLife))
	for k := range halves {
		if fraction&(1<<(31-k)) != 0 {
			amount, _ = bits.Mul64(amount, halves[k])
		}
	}
	return amount
}
