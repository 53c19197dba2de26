package histogram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// The encoding is the version, then LEB128 numbers: sum and maximum in
// nanoseconds, and for each bucket that has counted anything, in order, how
// many it lies beyond the one before (the first beyond -1) and its count. An
// empty histogram is the version alone.

// encodingVersion is the first byte of every encoding.
const encodingVersion = 1

// MaxEncoded is the length of the longest encoding: all buckets, the largest
// counts. A receiver may refuse more.
const MaxEncoded = 1 + 2*binary.MaxVarintLen64 + Buckets*(2+binary.MaxVarintLen64)

// ErrEncoding means that the data is not an encoded histogram. UnmarshalBinary wraps it.
var ErrEncoding = errors.New("not an encoded histogram")

// AppendBinary appends the encoding to dst; it never fails. With room in dst
// it allocates nothing.
func (h *Histogram) AppendBinary(dst []byte) ([]byte, error) {
	dst = append(dst, encodingVersion)
	if h.count == 0 {
		return dst, nil
	}
	dst = binary.AppendUvarint(dst, h.sum)
	dst = binary.AppendUvarint(dst, h.max)
	before := -1
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(i-before))
		dst = binary.AppendUvarint(dst, n)
		before = i
	}
	return dst, nil
}

// MarshalBinary returns the encoding; it never fails.
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary sets the histogram from its encoding. data may come from anyone: it is accepted
// only if recording and merging can have led to it, and each histogram has exactly one encoding.
// After an error h is empty.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	h.Reset()
	if err := h.decode(data); err != nil {
		h.Reset()
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	return nil
}

// decode reads an encoding into an empty histogram.
func (h *Histogram) decode(data []byte) error {
	if len(data) == 0 || data[0] != encodingVersion {
		return errors.New("unknown version")
	}
	in := reader{rest: data[1:]}
	if len(in.rest) == 0 {
		return nil
	}
	h.sum, h.max = in.number(), in.number()
	last := -1
	for !in.failed && len(in.rest) > 0 {
		gap, n := in.number(), in.number()
		if in.failed || gap == 0 || gap > uint64(Buckets-1-last) || n == 0 {
			return errors.New("a bucket is malformed")
		}
		last += int(gap)
		h.counts[last] = n
		h.count = addSaturating(h.count, n)
	}
	if in.failed || last < 0 {
		return errors.New("it ends too early")
	}
	return h.plausible(last)
}

// plausible checks sum and maximum against the buckets. last is the highest bucket in use, which
// must contain the maximum.
func (h *Histogram) plausible(last int) error {
	if h.max < lowest(last) || h.max > highest(last) {
		return errors.New("the maximum is not in the highest bucket")
	}
	minSum, maxSum := h.max-lowest(last), uint64(0)
	for i, n := range h.counts[:last+1] {
		minSum = addSaturating(minSum, mulSaturating(n, lowest(i)))
		maxSum = addSaturating(maxSum, mulSaturating(n, min(highest(i), h.max)))
	}
	if h.sum < minSum || h.sum > maxSum {
		return errors.New("the sum does not fit the counts")
	}
	return nil
}

// mulSaturating multiplies, and returns the largest value instead of overflowing.
func mulSaturating(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// reader reads numbers from a slice. After a failure it returns 0.
type reader struct {
	rest   []byte
	failed bool
}

// number reads the next number. A form longer than necessary is a failure, so that no two encodings
// mean the same.
func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.failed || n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}
