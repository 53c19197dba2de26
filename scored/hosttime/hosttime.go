// Package hosttime reads the clock that all processes of a host share, and identifies hosts, so
// that daemons of one host can compare their times without any error.
package hosttime

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// bootID is a file with a random number that the kernel draws when it starts; see random(4).
const bootID = "/proc/sys/kernel/random/boot_id"

// Host returns an identifier of this host since its boot; "" if that is not known. Containers of a
// host have the same identifier. Virtual machines that were copied while they ran may have the
// same, too, so callers must compare clocks as well.
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
