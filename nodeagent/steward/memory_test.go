package steward

import (
	"math"
	"testing"
)

func TestSoftLimit(t *testing.T) {
	if got := softLimit(0, 0, 0); got != memoryLimit {
		t.Errorf("without a job: %d", got)
	}
	large := softLimit(100_000, 4<<20, 0)
	if large < 128<<20 || large > 256<<20 {
		t.Errorf("100,000 ranks and 4 MiB of cards: %d MiB", large>>20)
	}
	if got := softLimit(0, 0, 64<<20); got < 128<<20 {
		t.Errorf("64 MiB that ranks have not read: %d MiB, and the collector would never stop", got>>20)
	}
	if got := softLimit(math.MaxInt32, math.MaxInt32, math.MaxInt32); got != MaxJobMemory {
		t.Errorf("more than there can be: %d", got)
	}
}
