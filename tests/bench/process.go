package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const pollInterval = 20 * time.Millisecond

// waitFor polls another program's state; there is nothing to be woken by.
func waitFor(ctx context.Context, limit time.Duration, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stopCommand asks politely and insists after limit.
func stopCommand(cmd *exec.Cmd, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // only that it ended matters
		close(done)
	}()
	_ = cmd.Process.Signal(syscall.SIGTERM) // may have ended by itself
	select {
	case <-done:
	case <-time.After(limit):
		_ = cmd.Process.Kill() // may have ended by itself
		<-done
	}
}

// milliseconds runs a command to its end and returns its wall time.
func milliseconds(cmd *exec.Cmd) (float64, error) {
	var stderr strings.Builder
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	start := time.Now()
	err := cmd.Run()
	elapsed := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return float64(elapsed.Nanoseconds()) / 1e6, nil
}

// alternate runs each command in turn, rounds times after one warm-up, and
// returns one series of milliseconds per command.
func alternate(rounds int, commands ...func() *exec.Cmd) ([][]float64, error) {
	series := make([][]float64, len(commands))
	for round := -1; round < rounds; round++ {
		for i, command := range commands {
			ms, err := milliseconds(command())
			if err != nil {
				return nil, err
			}
			if round >= 0 {
				series[i] = append(series[i], ms)
			}
		}
	}
	return series, nil
}

var errShortOutput = errors.New("the program printed no result")

// residentMB is how much memory of a process is in the machine's, shared pages and files too.
func residentMB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			return kib * 1024 / 1e6, nil
		}
	}
	return 0, fmt.Errorf("process %d tells no VmRSS", pid)
}
