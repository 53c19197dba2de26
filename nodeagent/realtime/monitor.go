package realtime

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// How late Go's monitor thread (sysmon) may wake. After each moment of idleness the thread sleeps
// 50 times for 20 us, and each wake-up takes some 10 to 20 us of a rank's processor. A thread that
// waits in a system call keeps it from longer sleep, as a real-time thread does all the time.
const (
	// MonitorSlack is a tenth of the 10 ms after which the monitor preempts goroutines and polls
	// the network, so a daemon does not notice it.
	MonitorSlack = time.Millisecond
	// RealtimeMonitorSlack is for a process with real-time threads, which has a Guard: as long as
	// the monitor sleeps by itself where it has nothing to do for 50 times. The process needs
	// a processor of Go's scheduler for each goroutine that may wait in a system call: the
	// monitor takes those late.
	RealtimeMonitorSlack = 10 * time.Millisecond
	// usualSlack is the kernel's for ordinary threads.
	usualSlack = 50 * time.Microsecond
)

// CalmMonitor lets the thread with which Go's runtime watches this process (sysmon) wake less
// often, so that a daemon with little to do takes little from the ranks beside it. Threads that the
// monitor makes inherit the slack, and a Guard takes it from them again; real-time ones have none.
// It is only an optimization, and needs CAP_SYS_NICE.
func CalmMonitor(slack time.Duration) error {
	tids, err := threads()
	if err != nil {
		return err
	}
	tid, ok := oldestThread(tids, os.Getpid())
	if !ok {
		return nil
	}
	if err := setSlack(tid, slack); err != nil {
		return fmt.Errorf("calming the runtime's monitor: %w", err)
	}
	return nil
}

func setSlack(tid int, slack time.Duration) error {
	text := strconv.FormatInt(slack.Nanoseconds(), 10)
	return os.WriteFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid), []byte(text), 0)
}

// inherited restores the usual slack of threads that were made by the monitor, or by such threads:
// with the monitor's slack, timers of goroutines would be late.
type inherited struct {
	count int // of the threads that were seen, and two
}

// correct does so only if the number of threads has changed.
func (i *inherited) correct() {
	var stat unix.Stat_t
	if unix.Stat("/proc/self/task", &stat) != nil || int(stat.Nlink) == i.count {
		return
	}
	tids, err := threads()
	monitor, ok := oldestThread(tids, os.Getpid())
	if err != nil || !ok {
		return
	}
	i.count = int(stat.Nlink)
	for _, tid := range tids {
		if tid != monitor {
			_ = setSlack(tid, usualSlack) // it may have ended, or this is not permitted
		}
	}
}

// oldestThread is the thread that was made first after the main one, which is the monitor:
// runtime.main makes it before all else. The kernel counts thread numbers upwards, and starts again
// below the first.
func oldestThread(tids []int, first int) (tid int, ok bool) {
	age := func(tid int) uint32 { return uint32(tid - first) }
	for _, t := range tids {
		if t != first && (!ok || age(t) < age(tid)) {
			tid, ok = t, true
		}
	}
	return tid, ok
}
