package cgroup

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// beatEnv makes the test binary play a job that computes without a pause and
// writes the clock into memory that it shares with the test.
const beatEnv = "CGROUP_TEST_BEAT"

func TestMain(m *testing.M) {
	if os.Getenv(beatEnv) != "" {
		beat()
		return
	}
	os.Exit(m.Run())
}

const (
	beatFD    = 3
	beatBytes = 4096
)

func beat() {
	runtime.LockOSThread()
	page, err := unix.Mmap(beatFD, 0, beatBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	for word := sharedWord(page); ; {
		atomic.StoreInt64(word, monotonic())
	}
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// startBeat starts the job in the group and returns its word, once it beats.
func startBeat(b *testing.B, g *Group) *int64 {
	b.Helper()
	fd, err := unix.MemfdCreate("beat", unix.MFD_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "beat")
	defer file.Close()
	if err := file.Truncate(beatBytes); err != nil {
		b.Fatal(err)
	}
	page, err := unix.Mmap(fd, 0, beatBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Munmap(page) })
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), beatEnv+"=1", "GOMAXPROCS=1")
	cmd.ExtraFiles = []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD(), Pdeathsig: syscall.SIGKILL}
	run(b, cmd)
	word := sharedWord(page)
	reaches(b, "a first beat", func() bool { return atomic.LoadInt64(word) != 0 })
	return word
}

// BenchmarkSwitch measures, on a job that computes without a pause: from the
// freeze until the kernel says frozen; from the freeze to the job's last beat;
// from the thaw to its next beat. Slices below 10 ms show the kernel's bound on
// wake-ups; see watch.
func BenchmarkSwitch(b *testing.B) {
	for _, slice := range []time.Duration{0, 15 * time.Millisecond} {
		b.Run(slice.String(), func(b *testing.B) {
			runtime.LockOSThread() // with real-time priority, as an agent's
			attr := unix.SchedAttr{
				Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
				Flags: unix.SCHED_FLAG_RESET_ON_FORK,
			}
			if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
				b.Log("no real-time priority: ", err)
			}
			benchmarkSwitch(b, slice)
		})
	}
}

func benchmarkSwitch(b *testing.B, slice time.Duration) {
	g := testGroup(b)
	word := startBeat(b, g)
	var frozen, last, thawed []time.Duration
	for b.Loop() {
		begin := monotonic()
		if err := g.Freeze(); err != nil {
			b.Fatal(err)
		}
		if err := g.WaitFrozen(soon()); err != nil {
			b.Fatal(err)
		}
		frozen = append(frozen, time.Duration(monotonic()-begin))
		stopped := atomic.LoadInt64(word)
		last = append(last, time.Duration(stopped-begin))
		begin = monotonic()
		if err := g.Thaw(); err != nil {
			b.Fatal(err)
		}
		for atomic.LoadInt64(word) == stopped {
			if monotonic()-begin > int64(timeout) {
				b.Fatal("the job does not go on")
			}
		}
		thawed = append(thawed, time.Duration(monotonic()-begin))
		time.Sleep(slice)
	}
	report(b, frozen, "frozen")
	report(b, last, "last-beat")
	report(b, thawed, "running")
}

func report(b *testing.B, all []time.Duration, name string) {
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2])/1e3, name+"-us")
	b.ReportMetric(float64(all[len(all)*99/100])/1e3, name+"-p99-us")
}

// BenchmarkCreate is making and removing a group.
func BenchmarkCreate(b *testing.B) {
	r := testRoot(b)
	var made, gone []time.Duration
	for b.Loop() {
		begin := time.Now()
		g, err := r.Create(0)
		if err != nil {
			b.Fatal(err)
		}
		made = append(made, time.Since(begin))
		begin = time.Now()
		if err := g.Close(soon()); err != nil {
			b.Fatal(err)
		}
		gone = append(gone, time.Since(begin))
	}
	report(b, made, "create")
	report(b, gone, "close")
}

// BenchmarkFork is a process born inside a group beside one that is not.
func BenchmarkFork(b *testing.B) {
	g := testGroup(b)
	for _, inside := range []bool{false, true} {
		name := map[bool]string{false: "outside", true: "inside"}[inside]
		b.Run(name, func(b *testing.B) {
			attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: inside, CgroupFD: g.FD()}}
			for b.Loop() {
				pid, err := syscall.ForkExec("/bin/true", []string{"true"}, attr)
				if err != nil {
					b.Fatal(err)
				}
				var ws unix.WaitStatus
				if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 0 {
					b.Fatal(ws, err)
				}
			}
		})
	}
}
