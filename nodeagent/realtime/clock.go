package realtime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is CLOCK_MONOTONIC in nanoseconds: the time that planned instants on this
// node are counted in. It is the clock behind time.Now's monotonic part, and
// the same in all processes of the machine. It takes no system call.
func Now() int64 { return start.instant + int64(time.Since(start.time)) }

// UntilNext returns the time to the next multiple of a period of Now. Work of one process that is
// done every so often, and is not bound to an instant, shares its wake-ups so.
func UntilNext(period time.Duration) time.Duration {
	return period - time.Duration(Now())%period
}

// start joins the kernel's clock to that of package time.
var start = joinClocks()

type joint struct {
	time    time.Time
	instant int64 // of the kernel, at time
}

// jointTries is how often both clocks are read: the pair read closest together is kept, since an
// interrupt between the two shifts all instants.
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
		// Every Linux has this clock; without it no instant means anything.
		panic("realtime: no monotonic clock: " + err.Error())
	}
	return ts.Nano()
}
