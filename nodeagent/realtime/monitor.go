package realtime

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// monitorSlack is how late Go's monitor thread may wake. After each moment of idleness the thread
// sleeps 50 times for 20 us, and each wake-up takes some 20 us of a rank's processor. The slack is
// a tenth of the 10 ms after which the monitor preempts goroutines and polls the network, so a
// daemon does not notice it.
const monitorSlack = time.Millisecond

// CalmMonitor lets the thread with which Go's runtime watches this process (sysmon) wake less
// often, so that a daemon with little to do takes little from the ranks beside it. Threads that the
// monitor makes inherit the slack; real-time ones have none. It is a help and nothing more, and
// needs CAP_SYS_NICE.
func CalmMonitor() error {
	tids, err := threads()
	if err != nil {
		return err
	}
	tid, ok := eldest(tids, os.Getpid())
	if !ok {
		return nil
	}
	slack := strconv.FormatInt(monitorSlack.Nanoseconds(), 10)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid), []byte(slack), 0); err != nil {
		return fmt.Errorf("calming the runtime's monitor: %w", err)
	}
	return nil
}

// eldest is the thread that was made first after the main one, which is the monitor: runtime.main
// makes it before all else. The kernel counts thread numbers upwards, and starts again below the
// first.
func eldest(tids []int, first int) (tid int, ok bool) {
	age := func(tid int) uint32 { return uint32(tid - first) }
	for _, t := range tids {
		if t != first && (!ok || age(t) < age(tid)) {
			tid, ok = t, true
		}
	}
	return tid, ok
}
