package client

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startOn starts a program on the given CPUs, or on those of this process if there are none. A
// process inherits the CPUs of the thread that forks it, so a separate thread forks, which ends
// with its goroutine.
func startOn(cpus []int, cmd *exec.Cmd) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			started <- fmt.Errorf("keeping to CPUs %v: %w", cpus, err)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}
