package realtime

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const timeout = 60 * time.Second

func newSleeper(t testing.TB) *Sleeper {
	t.Helper()
	s, err := NewSleeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestNowIsGosMonotonicClock(t *testing.T) {
	a, start := Now(), time.Now()
	for time.Since(start) < time.Millisecond {
		runtime.Gosched()
	}
	gone, b := time.Since(start), Now()
	if d := time.Duration(b - a); d < gone || d > gone+timeout {
		t.Errorf("Now has gone %v, time.Now %v", d, gone)
	}
}

func TestUntil(t *testing.T) {
	s := newSleeper(t)
	for _, ahead := range []time.Duration{2 * time.Millisecond, 0, -time.Hour} {
		instant := Now() + int64(ahead)
		late, woken, err := s.Until(instant)
		if err != nil || woken {
			t.Fatal(woken, err)
		}
		if late < 0 || late < -ahead {
			t.Errorf("back %v after an instant %v ahead", late, ahead)
		}
		if now := time.Duration(Now() - instant); late > now {
			t.Errorf("%v late, but now is only %v after", late, now)
		}
	}
	if late, _, err := s.Until(-5); err != nil || late < 0 {
		t.Errorf("before boot: %v, %v", late, err)
	}
}

func TestWakeEndsTheSleep(t *testing.T) {
	s := newSleeper(t)
	done := make(chan bool)
	go func() {
		late, woken, err := s.Until(Now() + int64(time.Hour))
		done <- err == nil && woken && late < 0
	}()
	if err := s.Wake(); err != nil {
		t.Fatal(err)
	}
	select {
	case ok := <-done:
		if !ok {
			t.Error("not woken")
		}
	case <-time.After(timeout):
		t.Fatal("still asleep")
	}
}

func TestWakeIsKeptAndTakenOnce(t *testing.T) {
	s := newSleeper(t)
	for range 3 {
		if err := s.Wake(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forever(); err != nil {
		t.Fatal(err)
	}
	if _, woken, err := s.Until(Now()); woken || err != nil {
		t.Errorf("woken %v a second time, %v", woken, err)
	}
}

func TestWakeAfterClose(t *testing.T) {
	s := newSleeper(t)
	s.Close()
	if err := s.Wake(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestUntilAllocatesNothing(t *testing.T) {
	s := newSleeper(t)
	if n := testing.AllocsPerRun(100, func() {
		if err := s.Wake(); err != nil {
			t.Error(err)
		}
		if _, _, err := s.Until(Now() + 1000); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBadPriorities(t *testing.T) {
	for _, p := range []int{-1, 0, 100} {
		if err := SetFIFO(p); !errors.Is(err, ErrPriority) {
			t.Errorf("FIFO %d: %v", p, err)
		}
	}
}

// onThread runs f on a thread that ends with it, as what f does to it does.
func onThread(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	select {
	case <-done:
	case <-time.After(timeout):
		t.Fatal("the thread hangs")
	}
}

func TestSetFIFO(t *testing.T) {
	onThread(t, func() {
		err := SetFIFO(1)
		if errors.Is(err, ErrNotPermitted) {
			t.Log("skipped: ", err)
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil || attr.Policy != unix.SCHED_FIFO || attr.Priority != 1 {
			t.Errorf("%+v, %v", attr, err)
		}
		// The flag shows as the policy of what is started from here.
		out, err := exec.CommandContext(t.Context(), "cat", "/proc/self/stat").Output()
		if err != nil || len(out) == 0 {
			t.Error(err)
		}
		if attr.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0 {
			t.Error("children would inherit the priority")
		}
	})
}

func TestNotPermittedSaysWhatToDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give permission up")
	}
	onThread(t, func() {
		// Capabilities belong to the thread; raw calls change only this one's.
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
			return
		}
		var limit unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_RTPRIO, nil, &limit); err != nil || limit.Cur != 0 {
			t.Log("skipped: real-time priorities are permitted to all here")
			return
		}
		if err := SetFIFO(1); !errors.Is(err, ErrNotPermitted) || !strings.Contains(err.Error(), "as root") {
			t.Error(err)
		}
	})
}

// Root is not told to be root where its control group has no real-time bandwidth.
func TestNotPermittedByTheControlGroup(t *testing.T) {
	const cpu = "/sys/fs/cgroup/cpu" // of version 1, where a thread alone can be moved
	if _, err := os.Stat(filepath.Join(cpu, "cpu.rt_runtime_us")); err != nil {
		t.Skip("no control groups with real-time bandwidth: ", err)
	}
	group, err := os.MkdirTemp(cpu, "score-test-")
	if err != nil {
		t.Skip("no control group can be made: ", err)
	}
	onThread(t, func() {
		tid := strconv.Itoa(unix.Gettid())
		if err := os.WriteFile(filepath.Join(group, "tasks"), []byte(tid), 0); err != nil {
			t.Error(err)
			return
		}
		if err := SetFIFO(1); !errors.Is(err, ErrNotPermitted) || !strings.Contains(err.Error(), "CONFIG_RT_GROUP_SCHED") {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(cpu, "tasks"), []byte(tid), 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.Remove(group); err != nil {
		t.Error(err)
	}
}

func TestUntilNext(t *testing.T) {
	const period = time.Hour
	before := Now()
	left := UntilNext(period)
	after := Now()
	if left <= 0 || left > period {
		t.Fatalf("%v to the next multiple of %v", left, period)
	}
	if past := (after + int64(left)) % int64(period); past > after-before {
		t.Errorf("%v is %v past a multiple of %v", left, time.Duration(past), period)
	}
}

// The clock that takes no system call agrees with the kernel's.
func TestNowIsTheKernels(t *testing.T) {
	for range 1000 {
		before, now, after := Now(), kernelNow(), Now()
		const joined = 10 * time.Microsecond // an interrupt while both clocks were read
		if now < before-int64(joined) || now > after+int64(joined) {
			t.Fatalf("the kernel's %d is not between %d and %d", now, before, after)
		}
	}
}
