package realtime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns CLOCK_MONOTONIC in nanoseconds, the time in which planned instants on this node are
// counted. It is the clock behind time.Now's monotonic part, and the same in all processes of the
// machine. It takes no system call.
func Now() int64 { return start.instant + int64(time.Since(start.time)) }

// UntilNext returns the time until Now is the next multiple of a period. Periodic work of a process
// that is not bound to an instant shares wake-ups by it.
func UntilNext(period time.Duration) time.Duration {
	return period - time.Duration(Now())%period
}

// start is one instant by both the kernel's clock and package time's.
var start = joinClocks()

type joint struct {
	time    time.Time
	instant int64 // of the kernel, at time
}

// jointTries is how often both clocks are read. The pair read closest together is kept, since an
// interrupt between the two readings would shift all instants.
const jointTries = 16

func joinClocks() joint {
	var best joint
	shortest := time.Duration(1<<63 - 1)
	for range jointTries {
		before := time.Now()
		instant := kernelNow()
		if took := time.Since(before); took < shortest {
			shortest, best = took, joint{before.Add(took / 2), instant}
		}
	}
	return best
}

func kernelNow() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// Every Linux has this clock; without it instants are meaningless.
		panic("realtime: no monotonic clock: " + err.Error())
	}
	return ts.Nano()
}
