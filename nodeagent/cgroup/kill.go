package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// killBatch is how many processes killMembers holds by descriptor at once: few beside the agent's
// limit of open files, and enough that the list is not read again for each process.
const killBatch = 64

// killMembers kills the processes of a group one by one, except this one.
func killMembers(dir string) error {
	pids, err := processesIn(dir)
	if err != nil {
		return err
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == os.Getpid() })
	for batch := range slices.Chunk(pids, killBatch) {
		if err := killIfMembers(dir, batch); err != nil {
			return err
		}
	}
	return nil
}

// killIfMembers kills those of the processes that are in the group. A process can end after the
// list was read, and another one get its number. So killIfMembers takes a descriptor of each
// process first, and then reads the list again: what has a listed number then is in the group, and
// the signal to its descriptor reaches no later process.
func killIfMembers(dir string, pids []int) error {
	held := make(map[int]int, len(pids)) // descriptors by pid
	defer func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case err == nil:
			held[pid] = fd
		case !errors.Is(err, unix.ESRCH):
			return fmt.Errorf("opening process %d: %w", pid, err)
		}
	}
	members, err := processesIn(dir)
	if err != nil {
		return err
	}
	for _, pid := range members {
		fd, ok := held[pid]
		if !ok {
			continue
		}
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("killing process %d: %w", pid, err)
		}
	}
	return nil
}
