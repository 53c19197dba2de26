package realtime

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOldestThread(t *testing.T) {
	cases := []struct {
		name  string
		tids  []int
		first int
		want  int
		ok    bool
	}{
		{"in order", []int{100, 101, 105}, 100, 101, true},
		{"in any order", []int{105, 103, 100}, 100, 103, true},
		{"numbers began again", []int{3, 7, 32767}, 32767, 3, true},
		{"numbers began again later", []int{3, 32760, 32761}, 32760, 32761, true},
		{"alone", []int{100}, 100, 0, false},
		{"none", nil, 100, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if tid, ok := oldestThread(c.tids, c.first); tid != c.want || ok != c.ok {
				t.Errorf("%d, %v, want %d, %v", tid, ok, c.want, c.ok)
			}
		})
	}
}

// The thread that gets the slack is the one that wakes every few milliseconds while a goroutine
// computes.
func TestCalmMonitor(t *testing.T) {
	if err := CalmMonitor(MonitorSlack); errors.Is(err, os.ErrPermission) {
		t.Skip("this needs CAP_SYS_NICE")
	} else if err != nil {
		t.Fatal(err)
	}
	tids, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	tid, _ := oldestThread(tids, os.Getpid())
	slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid))
	if err != nil {
		t.Fatal(err)
	}
	if want := strconv.FormatInt(MonitorSlack.Nanoseconds(), 10); strings.TrimSpace(string(slack)) != want {
		t.Fatalf("the slack of thread %d is %s ns, want %s", tid, slack, want)
	}
	const wakes = 5
	first := switches(t, tid)
	for end := time.Now().Add(10 * time.Second); switches(t, tid) < first+wakes; {
		if time.Now().After(end) {
			t.Fatal("that thread sleeps while a goroutine computes: it is no monitor")
		}
	}
}

// switches is how often a thread has given its processor away by itself.
func switches(t *testing.T, tid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", tid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
	line, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Threads that have the monitor's slack get the usual one again, and the monitor keeps its own.
func TestInheritedSlack(t *testing.T) {
	if err := CalmMonitor(RealtimeMonitorSlack); errors.Is(err, os.ErrPermission) {
		t.Skip("this needs CAP_SYS_NICE")
	} else if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // so that the thread stays, and others are made beside it
	defer runtime.UnlockOSThread()
	self := unix.Gettid()
	if err := setSlack(self, RealtimeMonitorSlack); err != nil {
		t.Fatal(err)
	}
	var i inherited
	i.correct()
	tids, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	monitor, _ := oldestThread(tids, os.Getpid())
	for tid, want := range map[int]time.Duration{self: usualSlack, monitor: RealtimeMonitorSlack} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(text)); got != strconv.FormatInt(want.Nanoseconds(), 10) {
			t.Errorf("the slack of thread %d is %s ns, want %v", tid, got, want)
		}
	}
	if i.count == 0 {
		t.Error("it looks again although no thread was made")
	}
}
