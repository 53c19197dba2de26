package gang

import "math/bits"

// CPU sets are slices of words, bit i of word w standing for CPU 64*w+i.

// CPU sets are slices of words; bit i of word w represents CPU 64*w+i.
const wordBits = 64

func wordsFor(cpus int) int { return (cpus + wordBits - 1) / wordBits }

func setBit(set []uint64, i int) { set[i/wordBits] |= 1 << (i % wordBits) }

func hasBit(set []uint64, i int) bool { return set[i/wordBits]&(1<<(i%wordBits)) != 0 }

// setLow sets bits 0 to n-1.
func setLow(set []uint64, n int) {
	for w := range set {
		switch {
		case n >= wordBits:
			set[w] = ^uint64(0)
		case n > 0:
			set[w] |= 1<<n - 1
		}
		n -= wordBits
	}
}

func count(set []uint64) int {
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// intersects, union and subtract take a second set of at most as many words
// as the first: rows have the words of the largest node, nodeShares of their own.

// intersects, union and subtract take a second set of at most as many words as the first: rows have
// the words of the largest node, nodeShares those of their own node.
func intersects(a, b []uint64) bool {
	for w := range b {
		if a[w]&b[w] != 0 {
			return true
		}
	}
	return false
}

func union(dst, src []uint64) {
	for w := range src {
		dst[w] |= src[w]
	}
}

func subtract(dst, src []uint64) {
	for w := range src {
		dst[w] &^= src[w]
	}
}

// keepLow clears all but the n lowest bits that are set.
func keepLow(set []uint64, n int) {
	for w := range set {
		c := bits.OnesCount64(set[w])
		for ; c > n; c-- {
			set[w] &^= 1 << (bits.Len64(set[w]) - 1)
		}
		n -= c // never below 0: c was brought down to n
	}
}

// indices returns the positions of the set bits, ascending.
func indices(set []uint64) []int {
	out := make([]int, 0, count(set))
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			out = append(out, w*wordBits+bits.TrailingZeros64(word))
		}
	}
	return out
}
