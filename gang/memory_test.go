package gang

import (
	"math"
	"testing"
)

// A refused request is shown larger than the limit, in any units, and exactly if a user may have
// written it.
func TestFormatMemoryAsked(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0", 1: "1 byte", 1 << 10: "1K", 1<<10 + 1: "2K", 1500 << 20: "1500M", 8 << 30: "8G", 99 << 40: "99T", MaxMemory: "1048576T",
		2<<30 + 1: "2049M", 2<<30 + 1<<10: "2049M", 99<<40 - 2<<30: "99T", math.MaxInt64: "8388608T",
	} {
		if got := FormatMemoryAsked(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

func TestFormatMemory(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0", 1: "1 byte", 1023: "1023 bytes", 1 << 10: "1K", 1537 << 10: "1537K",
		1500 << 20: "1500M", 1 << 30: "1G", 8 << 30: "8G", MaxMemory: "1048576T",
		// Computed, not written by a user:
		1<<10 + 1: "1K", 8<<30 + 1: "8G", 12_389_324 << 10: "12098M", 3_141_592_653: "2996M",
	} {
		if got := FormatMemory(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}
