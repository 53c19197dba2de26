package sim

import "math/bits"

// rng is SplitMix64 (Steele, Lea, Flood 2014). The generators of the standard
// library may draw otherwise in a later release; a seed must stay one run.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1. The bias of not rejecting is below
// n/2^64.
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// between returns a number from lo to hi.
func (r *rng) between(lo, hi int) int { return lo + r.below(hi-lo+1) }

// span returns a duration in ns from lo to hi.
func (r *rng) span(lo, hi int64) int64 { return lo + int64(r.below(int(hi-lo+1))) }

// chance is true in permille of 1000 cases.
func (r *rng) chance(permille int) bool { return permille > 0 && r.below(1000) < permille }

// pick returns one of the choices.
func pick[T any](r *rng, choices ...T) T { return choices[r.below(len(choices))] }

// maybe returns a number from 1 to hi in half of the cases, else 0, so that many
// worlds have a fault not at all.
func (r *rng) maybe(hi int) int {
	if r.chance(500) {
		return 0
	}
	return r.between(1, hi)
}
