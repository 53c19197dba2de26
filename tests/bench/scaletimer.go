package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"score/ctxswitch/histogram"
	"score/nodeagent/realtime"
	"score/tests/bench/messages"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerRole makes this program a thread that only wakes. Its argument is its CPU.
	timerRole = "timer-thread"
	// timerRun gives each CPU as many instants as a node has switches in 75 seconds.
	timerRun = 75 * time.Second
)

// recordTimer measures on each CPU how late a thread wakes that has a switching thread's priority
// and nothing else to do.
func recordTimer(ctx context.Context, late *histogram.Histogram) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cpus, err := messages.CPUs()
	if err != nil {
		return err
	}
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	for _, cpu := range cpus {
		go func() {
			out, err := exec.CommandContext(ctx, self, timerRole, strconv.Itoa(cpu)).Output()
			results <- result{out, err}
		}()
	}
	var first error
	for range cpus {
		r := <-results
		var h histogram.Histogram
		if err := firstError(r.err, h.UnmarshalBinary(r.out)); err != nil {
			first = firstError(first, fmt.Errorf("a thread that only wakes: %w", err))
			continue
		}
		late.Merge(&h)
	}
	return first
}

// timerThread wakes at the boundaries of slices, beside a thread that computes as a rank does, and
// writes how late it was.
func timerThread(args []string) error {
	cpu, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	// Of Go's runtime nothing is to run beside the two threads.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	runtime.LockOSThread()
	var where unix.CPUSet
	where.Set(cpu)
	if err := pin(os.Getpid(), &where); err != nil {
		return err
	}
	go spin()
	if err := realtime.SetFIFO(realtime.SwitchPriority); err != nil {
		return err
	}
	var late histogram.Histogram
	wakes(&late, int(timerRun/recordSlice))
	data, err := late.MarshalBinary()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(data)
	return err
}

// wakes sleeps until each of so many instants.
func wakes(late *histogram.Histogram, count int) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // this clock is always there
	for at := now.Nano(); count > 0; count-- {
		at += recordSlice.Nanoseconds()
		until := unix.NsecToTimespec(at)
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) // a signal only shortens it
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
		late.Record(time.Duration(now.Nano() - at))
	}
}
