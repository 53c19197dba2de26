package realtime

import "golang.org/x/sys/unix"

// Now is CLOCK_MONOTONIC in nanoseconds: the time that planned instants on this
// node are counted in. It is the clock behind time.Now's monotonic part, and
// the same in all processes of the machine.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// Every Linux has this clock; without it no instant means anything.
		panic("realtime: no monotonic clock: " + err.Error())
	}
	return ts.Nano()
}
