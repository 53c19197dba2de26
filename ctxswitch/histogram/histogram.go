package histogram

import (
	"math"
	"math/bits"
	"time"
)

const (
	// subBits is the binary logarithm of the buckets per octave. With 32 of
	// them a bucket is 1/32 of its lower end wide, so its middle is at most
	// 1.6 percent from any duration in it; with 16 it would be 3.1.
	subBits    = 5
	subBuckets = 1 << subBits

	// maxBits bounds the durations that are told apart: 2^36 ns are 69 s, more
	// than any wait in a switch may last.
	maxBits = 36

	// Buckets is the size of a histogram: durations below 32 ns have a bucket
	// each, every octave above has 32.
	Buckets = subBuckets * (maxBits - subBits + 1)

	// MaxDuration is the longest duration that is distinguished. Longer ones count as MaxDuration.
	MaxDuration = time.Duration(1<<maxBits - 1)
)

// Histogram counts durations. The zero value is empty and ready. It is not
// safe for concurrent use.
type Histogram struct {
	counts [Buckets]uint64
	count  uint64 // of all buckets
	sum    uint64 // of all durations, in nanoseconds; stays at the largest value there is
	max    uint64 // the longest duration, in nanoseconds
}

// Record counts one duration. Durations below 0 count as 0, those above MaxDuration as MaxDuration.
func (h *Histogram) Record(d time.Duration) {
	ns := uint64(min(max(d, 0), MaxDuration))
	n := &h.counts[bucketOf(ns)]
	*n = addSaturating(*n, 1)
	h.count = addSaturating(h.count, 1)
	h.sum = addSaturating(h.sum, ns)
	h.max = max(h.max, ns)
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] = addSaturating(h.counts[i], n)
	}
	h.count = addSaturating(h.count, other.count)
	h.sum = addSaturating(h.sum, other.sum)
	h.max = max(h.max, other.max)
}

// Reset empties the histogram.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count returns how many durations have been recorded.
func (h *Histogram) Count() uint64 { return h.count }

// Sum returns the sum of the durations in nanoseconds. It stays at the largest value instead of
// overflowing.
func (h *Histogram) Sum() uint64 { return h.sum }

// Max returns the longest duration, exactly; 0 if there is none.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Quantile returns the duration at or below which the share q of all durations lies (0.5: the
// median), to 1.6 percent. q is limited to 0 to 1. An empty histogram returns 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank := h.rank(q)
	var seen uint64
	for i, n := range h.counts {
		seen = addSaturating(seen, n)
		if seen >= rank {
			return time.Duration(min(middle(i), h.max))
		}
	}
	return h.Max()
}

// rank returns the number, from 1, of the duration at quantile q.
func (h *Histogram) rank(q float64) uint64 {
	if math.IsNaN(q) || q <= 0 {
		return 1
	}
	if q >= 1 {
		return h.count
	}
	return min(max(uint64(math.Ceil(q*float64(h.count))), 1), h.count)
}

// bucketOf returns the bucket of a duration of at most MaxDuration.
func bucketOf(ns uint64) int {
	if ns < subBuckets {
		return int(ns)
	}
	octave := bits.Len64(ns) - 1 - subBits // 0 is the first with 32 buckets
	return (octave+1)<<subBits + int(ns>>octave) - subBuckets
}

// lowest returns the shortest duration of a bucket.
func lowest(bucket int) uint64 {
	if bucket < subBuckets {
		return uint64(bucket)
	}
	octave := bucket>>subBits - 1
	return uint64(bucket&(subBuckets-1)+subBuckets) << octave
}

// highest returns the longest duration of a bucket.
func highest(bucket int) uint64 {
	if bucket < subBuckets {
		return uint64(bucket)
	}
	return lowest(bucket) + 1<<(bucket>>subBits-1) - 1
}

// middle returns the duration that represents all durations of a bucket.
func middle(bucket int) uint64 { return (lowest(bucket) + highest(bucket)) / 2 }

// addSaturating adds, and returns the largest value instead of overflowing.
func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
