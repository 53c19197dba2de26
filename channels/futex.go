package channels

import (
	"time"

	"golang.org/x/sys/unix"
)

// futex operations, from linux/futex.h; not the private ones, since the
// words are shared between processes.
const (
	futexWait = 0
	futexWake = 1
)

// futexSleep sleeps while the word is value, at most for the time. It may end
// early: the word had changed, somebody woke it, a signal came.
func futexSleep(word *uint32, value uint32, timeout time.Duration) {
	futex(word, futexWait, value, timeout)
}

// futexWakeOne wakes one sleeper.
func futexWakeOne(word *uint32) { futex(word, futexWake, 1, 0) }

// Nap lets other threads have the processor for some tens of microseconds, which is what the kernel
// makes of the shortest sleep (timer slack). sched_yield(2) would be shorter, but Linux loses count
// over many of them: up to 7.0 the fair scheduler then takes processes of other groups on the
// processor for ones that had their share, and lets them wait for tens of seconds (kernel commits
// 79104becf42b, b3d99f43c72b, 1319ea57529e).
func Nap() {
	shortest := unix.Timespec{Nsec: 1}
	_ = unix.Nanosleep(&shortest, nil) // one that a signal ends was long enough
}
