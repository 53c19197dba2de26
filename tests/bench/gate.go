package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// gateVariable names a FIFO. A program opens it when all its ranks are there, reads it to its end,
// and begins its work only then. So programs that run at once begin at once: while one still
// starts, slices of the other are lost that no switch takes.
const gateVariable = "BENCH_GATE"

// gatePoll is how often a program is looked for that has come to its gate.
const gatePoll = time.Millisecond

// passGate waits at the gate of this process, if it has one.
func passGate() error {
	if path := os.Getenv(gateVariable); path != "" {
		return pass(path)
	}
	return nil
}

func pass(gate string) error {
	f, err := os.Open(gate)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, f)
	return errors.Join(err, f.Close())
}

// atGate lets a program wait at the gate; none if empty.
func atGate(cmd *exec.Cmd, gate string) *exec.Cmd {
	if gate != "" {
		cmd.Env = append(cmd.Environ(), gateVariable+"="+gate)
	}
	return cmd
}

// newGates makes gates in a directory of their own, which remove removes.
func newGates(count int) (gates []string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "score-bench-gates-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	for i := range count {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := unix.Mkfifo(path, 0o600); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("mkfifo %s: %w", path, err), remove())
		}
		gates = append(gates, path)
	}
	return gates, remove, nil
}

// openGates opens all gates as soon as a program waits at each whose program has not ended.
func openGates(gates []string, ended []chan struct{}) {
	var waiting []int
	for i, gate := range gates {
		if fd, ok := awaitProgram(gate, ended[i]); ok {
			waiting = append(waiting, fd)
		}
	}
	for _, fd := range waiting {
		_ = unix.Close(fd) // nothing was written
	}
}

// awaitProgram returns the gate's end for writing when a program waits at it; false if it ended.
func awaitProgram(gate string, ended <-chan struct{}) (fd int, ok bool) {
	tick := time.NewTicker(gatePoll)
	defer tick.Stop()
	for {
		fd, err := unix.Open(gate, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, true
		}
		select {
		case <-ended:
			return 0, false
		case <-tick.C:
		}
	}
}
