package mem

import (
	"bytes"
	"math"
	"os"
	"strconv"
)

// available reports whether the node has that much memory without taking it from programs. The
// kernel itself does not refuse: it kills processes until there is enough. If the kernel does not
// report its memory, nothing is available: without /proc there are no peers either.
func available(size uint64) bool {
	text, err := os.ReadFile("/proc/meminfo")
	return err == nil && size <= parseAvailable(text)
}

// parseAvailable returns the bytes of the line "MemAvailable: N kB", 0 if there is none.
func parseAvailable(text []byte) uint64 {
	_, rest, ok := bytes.Cut(text, []byte("\nMemAvailable:"))
	words := bytes.Fields(rest)
	if !ok || len(words) == 0 {
		return 0
	}
	kilobytes, err := strconv.ParseUint(string(words[0]), 10, 64)
	if err != nil || kilobytes > math.MaxUint64>>10 {
		return 0
	}
	return kilobytes << 10
}
