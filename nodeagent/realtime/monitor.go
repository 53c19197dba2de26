package realtime

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Timer slack for Go's monitor thread (sysmon): how late it may wake. After each moment of idleness
// the thread sleeps 50 times for 20 us, and each wake-up takes some 10 to 20 us of a rank's
// processor. A thread that waits in a system call, as a real-time thread does all the time, keeps
// it from sleeping longer.
const (
	// MonitorSlack is a tenth of the 10 ms after which the monitor preempts goroutines and polls
	// the network, so a daemon does not notice it.
	MonitorSlack = time.Millisecond
	// RealtimeMonitorSlack is for a process with real-time threads and a Guard. It is as long as
	// the monitor sleeps by itself after 50 idle rounds. The process needs a processor of Go's
	// scheduler for each goroutine that may wait in a system call, since the monitor retakes those
	// late.
	RealtimeMonitorSlack = 10 * time.Millisecond
	// usualSlack is the kernel's for ordinary threads.
	usualSlack = 50 * time.Microsecond
)

// CalmMonitor makes the monitor thread of Go's runtime (sysmon) wake less often, so that an idle
// daemon takes little from the ranks beside it. Threads that the monitor makes inherit the slack,
// which a Guard resets; real-time threads have none. It is only an optimization, and needs
// CAP_SYS_NICE.
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

// correct restores the slack if the number of threads has changed.
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

// oldestThread returns the first thread made after the main one. It is the monitor, which
// runtime.main makes before all others. The kernel assigns thread numbers upwards, and may wrap
// around below the first.
func oldestThread(tids []int, first int) (tid int, ok bool) {
	age := func(tid int) uint32 { return uint32(tid - first) }
	for _, t := range tids {
		if t != first && (!ok || age(t) < age(tid)) {
			tid, ok = t, true
		}
	}
	return tid, ok
}
