package steward_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// enough is how much of a processor processes must have got together before they are compared.
const enough = 600 * time.Millisecond

// Ranks that share a processor get together no more of it than about one other program beside them:
// else many ranks would keep it from the daemons.
func TestManyRanksLeaveOthersTheProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("the kernel lets ordinary users set few sessions in a second")
	}
	const ranks, minPart = 9, 4
	a := start(t)
	a.run(ranks, sh("while :; do :; done"))
	pids := a.launched().GetPids()
	other := spinOn(t, 0)
	total := func() (sum time.Duration) {
		for _, pid := range pids {
			sum += cpuTime(t, int(pid))
		}
		return sum
	}
	before, otherBefore := total(), cpuTime(t, other)
	got, otherGot := time.Duration(0), time.Duration(0)
	for end := time.Now().Add(timeout); got+otherGot < enough; time.Sleep(enough / 20) {
		if time.Now().After(end) {
			t.Fatalf("they got %v of a processor together in %v", got+otherGot, timeout)
		}
		got, otherGot = total()-before, cpuTime(t, other)-otherBefore
	}
	if otherGot*minPart < got+otherGot {
		t.Errorf("%d ranks got %v of a processor, a program beside them %v", ranks, got, otherGot)
	}
	a.do(a.conn.Kill())
	a.done()
}

// A rank has a session of its own: no two ranks on different processors are in one.
func TestARankLeadsASession(t *testing.T) {
	a := start(t)
	a.run(2, sh("exec sleep 1000"))
	for _, pid := range a.launched().GetPids() {
		if leader, err := unix.Getsid(int(pid)); err != nil || leader != int(pid) {
			t.Errorf("rank %d is in session %d, %v", pid, leader, err)
		}
	}
	a.do(a.conn.Kill())
	a.done()
}

// spinOn starts a process that never sleeps on one CPU.
func spinOn(t *testing.T, cpu int) int {
	t.Helper()
	started := make(chan error)
	cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // does not share its part with other tests
	go func() {
		runtime.LockOSThread() // the process inherits the CPU, and the thread ends with the goroutine
		var set unix.CPUSet
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// cpuTime is what a process has used.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	// The number of a process's clock; linux/posix-timers.h.
	const scheduled = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		t.Fatalf("the clock of process %d: %v", pid, err)
	}
	return time.Duration(ts.Nano())
}
