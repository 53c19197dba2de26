// Package hosttime reads the clock that all processes of a host share, and tells hosts apart, so
// that daemons of one host can find out without any error how their views of time differ.
package hosttime

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// bootID is a file with a random number that the kernel draws when it starts; see random(4).
const bootID = "/proc/sys/kernel/random/boot_id"

// Host returns what tells this host, since it was started, from all others; "" if that is not known.
// Containers of a host have the same; virtual machines that were copied while they ran may have, so
// that whoever compares hosts must compare their clocks as well.
var Host = sync.OnceValue(func() string {
	text, err := os.ReadFile(bootID)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
})

// Now returns CLOCK_MONOTONIC in nanoseconds.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("hosttime: no monotonic clock: " + err.Error()) // every Linux has it
	}
	return ts.Nano()
}
