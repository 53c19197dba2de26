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
func futexSleep(word *uint32, value uint32, most time.Duration) {
	futex(word, futexWait, value, most)
}

// futexRouse wakes one sleeper.
func futexRouse(word *uint32) { futex(word, futexWake, 1, 0) }

// Yield lets another thread have the processor.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
