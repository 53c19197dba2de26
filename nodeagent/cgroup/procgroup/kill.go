package procgroup

import (
	"errors"
	"fmt"
	"os"
	"score/channels/procstat"
	"score/nodeagent/cgroup"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process as it was found in the table.
type process struct {
	pid   int
	start uint64 // tells it from a later process with its number
}

func appendPids(pids []int, processes []process) []int {
	for _, p := range processes {
		pids = append(pids, p.pid)
	}
	return pids
}

// Kill ends every process of the job. It stops them all first, since a stopped process does not
// fork: so it catches even a job that forks without end, unless the job forks faster than the
// process table can be read. The deadline bounds the tries.
func (g *Group) Kill(deadline time.Time) error {
	tracers := cgroup.AwaitTracers()
	for pause := pollFirst; ; pause = min(2*pause, pollLast) {
		found, err := g.processes()
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return nil
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w: %v", cgroup.ErrNotEmpty, appendPids(nil, found))
		}
		if err := g.stopAll(found, deadline); err != nil {
			return err
		}
		if found, err = g.processes(); err != nil {
			return err
		}
		if err := signalAll(found, unix.SIGKILL); err != nil {
			return err
		}
		tracers.End(func() []int { return threadsOf(found) })
		time.Sleep(pause)
	}
}

// stopAll sends SIGSTOP until a check finds no new process.
func (g *Group) stopAll(found []process, deadline time.Time) error {
	stopped := make(map[process]bool)
	for {
		fresh := found[:0]
		for _, p := range found {
			if !stopped[p] {
				stopped[p] = true
				fresh = append(fresh, p)
			}
		}
		if len(fresh) == 0 || !time.Now().Before(deadline) {
			return nil
		}
		if err := signalAll(fresh, unix.SIGSTOP); err != nil {
			return err
		}
		var err error
		if found, err = g.processes(); err != nil {
			return err
		}
	}
}

// threadsOf lists the threads of processes; those that have ended have none.
func threadsOf(processes []process) (threads []int) {
	for _, p := range processes {
		entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
		for _, e := range entries {
			if tid, err := strconv.Atoi(e.Name()); err == nil {
				threads = append(threads, tid)
			}
		}
	}
	return threads
}

// signalAll sends a signal to processes. A process that changed its user (set-user-id program) may
// refuse it; then Kill fails at its deadline.
func signalAll(processes []process, sig unix.Signal) error {
	for _, p := range processes {
		err := p.signal(sig)
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("signal %d to process %d: %w", int(sig), p.pid, err)
		}
	}
	return nil
}

// signal sends a signal, and nothing to another process that has the number by now.
func (p process) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The descriptor stays that of one process; its start says of which.
	if s, err := procstat.Read(p.pid); procstat.Gone(err) || err == nil && s.Start != p.start {
		return unix.ESRCH
	} else if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
