package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/cmd/scored/config"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pinNodes lets every agent of the cluster and its stewards run on its node's CPUs only, as if
// nodes were machines; the server, and this program with what it starts from then on, have those of
// the node named. By itself `scored dev` pins the ranks alone. What is returned lets this program
// run where it did before.
func (c *cluster) pinNodes(others string) (undo func() error, err error) {
	agents, err := children(c.PID(), "agent")
	if err != nil {
		return nil, err
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	undo = func() error { return pin(os.Getpid(), &before) }
	for _, pid := range agents {
		node, cpus, err := nodeOf(pid)
		if err != nil {
			return nil, err
		}
		stewards, err := children(pid, "steward")
		if err != nil {
			return nil, err
		}
		pids := append(stewards, pid)
		if node == others {
			pids = append(pids, c.PID(), os.Getpid())
		}
		for _, p := range pids {
			err = errors.Join(err, pin(p, cpus))
		}
		if err != nil {
			return nil, errors.Join(err, undo())
		}
	}
	return undo, nil
}

// nodeOf tells the node of an agent, and its CPUs, by its configuration.
func nodeOf(pid int) (name string, cpus *unix.CPUSet, err error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "", nil, err
	}
	_, rest, _ := bytes.Cut(line, []byte("--config\x00"))
	path, _, _ := bytes.Cut(rest, []byte{0})
	settings, err := config.Load(string(path))
	if err != nil {
		return "", nil, err
	}
	cpus = new(unix.CPUSet)
	for _, cpu := range settings.Agent.CPUs {
		cpus.Set(cpu)
	}
	return strings.TrimSuffix(filepath.Base(string(path)), ".toml"), cpus, nil
}

// pin lets all threads of a process run on these CPUs only. Those that come later inherit it.
func pin(pid int, cpus *unix.CPUSet) error {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) { // it may have ended
			return os.NewSyscallError("sched_setaffinity", err)
		}
	}
	return nil
}
