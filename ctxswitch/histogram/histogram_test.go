package histogram

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// maxError is what the package promises for a quantile.
const maxError = 0.03

// duration draws from all magnitudes alike.
var duration = rapid.Custom(func(t *rapid.T) time.Duration {
	top := rapid.Int64Range(0, int64(maxBits)).Draw(t, "bits")
	return time.Duration(rapid.Int64Range(0, 1<<top-1).Draw(t, "ns"))
})

func TestBucketsCoverEveryDurationOnce(t *testing.T) {
	next := uint64(0)
	for i := range Buckets {
		if lowest(i) != next {
			t.Fatalf("bucket %d begins at %d, the one before ends before %d", i, lowest(i), next)
		}
		if bucketOf(lowest(i)) != i || bucketOf(highest(i)) != i {
			t.Fatalf("the ends of bucket %d are in %d and %d", i, bucketOf(lowest(i)), bucketOf(highest(i)))
		}
		for _, end := range [...]uint64{lowest(i), highest(i)} {
			off := math.Abs(float64(middle(i)) - float64(end))
			if off > maxError*float64(end) {
				t.Fatalf("bucket %d stands for %d, which is too far from %d", i, middle(i), end)
			}
		}
		next = highest(i) + 1
	}
	if next != uint64(MaxDuration)+1 {
		t.Fatalf("the last bucket ends before %d, the longest duration is %d", next, MaxDuration)
	}
}

func TestQuantilesAreCloseToTheTrueOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(duration, 1, 200).Draw(t, "durations")
		var h Histogram
		var sum uint64
		for _, d := range all {
			h.Record(d)
			sum += uint64(d)
		}
		slices.Sort(all)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		rank := min(max(int(math.Ceil(q*float64(len(all)))), 1), len(all))
		want, got := all[rank-1], h.Quantile(q)
		if off := math.Abs(float64(got - want)); off > maxError*float64(want) {
			t.Fatalf("quantile %v is %v, true %v", q, got, want)
		}
		if h.Count() != uint64(len(all)) || h.Sum() != sum || h.Max() != all[len(all)-1] {
			t.Fatalf("count %d, sum %d, max %v", h.Count(), h.Sum(), h.Max())
		}
	})
}

func TestMergeIsRecordingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var both, a, b Histogram
		for _, d := range rapid.SliceOf(duration).Draw(t, "a") {
			a.Record(d)
			both.Record(d)
		}
		for _, d := range rapid.SliceOf(duration).Draw(t, "b") {
			b.Record(d)
			both.Record(d)
		}
		a.Merge(&b)
		if a != both {
			t.Fatal("merged, it differs from one that recorded all")
		}
	})
}

func TestEdges(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Max() != 0 || h.Count() != 0 {
		t.Error("an empty histogram is not 0")
	}
	h.Record(-time.Second)
	if h.Count() != 1 || h.Max() != 0 || h.Quantile(1) != 0 {
		t.Error("a negative duration does not count as 0")
	}
	h.Record(time.Hour)
	if h.Max() != MaxDuration || h.Quantile(1) > MaxDuration {
		t.Errorf("too long a duration counts as %v", h.Max())
	}
	for _, q := range []float64{math.NaN(), -1, math.Inf(-1)} {
		if h.Quantile(q) != 0 {
			t.Errorf("quantile %v is not the shortest", q)
		}
	}
	for _, q := range []float64{2, math.Inf(1)} {
		if h.Quantile(q) < 60*time.Second {
			t.Errorf("quantile %v is not the longest", q)
		}
	}
	h.Reset()
	if h != (Histogram{}) {
		t.Error("not empty after Reset")
	}
}

func TestCountsStayAtTheLargestValue(t *testing.T) {
	h := Histogram{count: math.MaxUint64, sum: math.MaxUint64, max: 1}
	h.counts[1] = math.MaxUint64
	h.Record(1)
	other := h
	h.Merge(&other)
	if h.count != math.MaxUint64 || h.sum != math.MaxUint64 || h.counts[1] != math.MaxUint64 {
		t.Errorf("count %d, sum %d, bucket %d", h.count, h.sum, h.counts[1])
	}
	if h.Quantile(0.5) != 1 || h.Quantile(1) != 1 {
		t.Errorf("median %v", h.Quantile(0.5))
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	b.ReportAllocs()
	d := time.Duration(1)
	for b.Loop() {
		h.Record(d)
		d = d*5/4%MaxDuration + 1
	}
}

func BenchmarkQuantile(b *testing.B) {
	var h Histogram
	for d := time.Microsecond; d < time.Second; d = d * 9 / 8 {
		h.Record(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Quantile(0.99)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	var h Histogram
	dst := make([]byte, 0, MaxEncoded)
	if n := testing.AllocsPerRun(100, func() {
		h.Record(12 * time.Microsecond)
		h.Quantile(0.5)
		dst, _ = h.AppendBinary(dst[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
