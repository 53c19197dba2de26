package gang

import "testing"

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
