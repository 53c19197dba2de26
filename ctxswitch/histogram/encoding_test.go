package histogram

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEncodingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, back Histogram
		for _, d := range rapid.SliceOf(duration).Draw(t, "durations") {
			h.Record(d)
		}
		data, err := h.MarshalBinary()
		if err != nil || len(data) > MaxEncoded {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if back != h {
			t.Fatal("it came back different")
		}
	})
}

func TestEncodingIsCompact(t *testing.T) {
	var h Histogram
	for i := range 10_000 {
		h.Record(10*time.Microsecond + time.Duration(i%2000))
	}
	data, _ := h.MarshalBinary()
	if len(data) > 40 {
		t.Errorf("a histogram of one step takes %d bytes", len(data))
	}
}

func TestLongestEncoding(t *testing.T) {
	h := Histogram{count: math.MaxUint64, sum: math.MaxUint64, max: uint64(MaxDuration)}
	for i := range h.counts {
		h.counts[i] = math.MaxUint64
	}
	data, _ := h.MarshalBinary()
	if len(data) > MaxEncoded {
		t.Errorf("%d bytes, at most %d were promised", len(data), MaxEncoded)
	}
	var back Histogram
	if err := back.UnmarshalBinary(data); err != nil || back != h {
		t.Errorf("it came back different: %v", err)
	}
}

// encode writes an encoding by hand.
func encode(numbers ...uint64) []byte {
	data := []byte{encodingVersion}
	for _, n := range numbers {
		data = binary.AppendUvarint(data, n)
	}
	return data
}

var badEncodings = []struct {
	name string
	data []byte
}{
	{"nothing", nil},
	{"another version", []byte{2}},
	{"sum alone", encode(5)},
	{"no bucket", encode(5, 5)},
	{"no count", encode(5, 5, 6)},
	{"a count of 0", encode(5, 5, 6, 0)},
	{"a gap of 0", encode(5, 5, 6, 1, 0, 1)},
	{"a gap of 0 at first", encode(0, 0, 0, 1)},
	{"beyond the last bucket", encode(5, 5, Buckets+1, 1)},
	{"gaps beyond the last bucket", encode(5, 5, Buckets, 1, 1, 1)},
	{"a gap that wraps", encode(5, 5, math.MaxUint64, 1)},
	{"maximum below its bucket", encode(5, 4, 6, 1)},
	{"maximum above its bucket", encode(6, 6, 6, 1)},
	{"sum too small", encode(9, 5, 6, 2)},
	{"sum too large", encode(11, 5, 6, 2)},
	{"sum too small for its maximum", encode(128, 65, 65, 2)},
	{"sum too large for its maximum", encode(129, 64, 65, 2)},
	{"counts that wrap", encode(0, 1, 2, math.MaxUint64, 1, math.MaxUint64)},
	{"a longer form than needed", append(encode(5, 5, 6), 0x81, 0x00)},
	{"a number cut short", append(encode(5, 5, 6), 0x80)},
	{"a number too long", append(encode(5, 5, 6), bytes.Repeat([]byte{0xff}, 11)...)},
}

func TestBadEncodings(t *testing.T) {
	for _, test := range badEncodings {
		h := Histogram{count: 7}
		err := h.UnmarshalBinary(test.data)
		if !errors.Is(err, ErrEncoding) {
			t.Errorf("%s: %v", test.name, err)
		}
		if h != (Histogram{}) {
			t.Errorf("%s: something was left in it", test.name)
		}
	}
}

// FuzzUnmarshal: whatever is accepted has sound figures and the one encoding
// it came from.
func FuzzUnmarshal(f *testing.F) {
	for _, test := range badEncodings {
		f.Add(test.data)
	}
	var h Histogram
	for d := time.Duration(1); d < 2*MaxDuration; d = d*3/2 + 1 {
		h.Record(d)
		data, _ := h.MarshalBinary()
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var h Histogram
		if h.UnmarshalBinary(data) != nil {
			return
		}
		if again, _ := h.MarshalBinary(); !bytes.Equal(again, data) {
			t.Fatalf("accepted %x, which is encoded as %x", data, again)
		}
		if h.Quantile(0) > h.Quantile(0.5) || h.Quantile(0.5) > h.Quantile(1) || h.Quantile(1) > h.Max() {
			t.Fatalf("quantiles %v %v %v, maximum %v", h.Quantile(0), h.Quantile(0.5), h.Quantile(1), h.Max())
		}
		h.Record(time.Microsecond)
		h.Merge(&h)
	})
}
