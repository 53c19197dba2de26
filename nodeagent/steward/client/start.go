package client

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"score/nodeagent/privateshm"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Self is the path of the running program, even if its file was replaced since it was started: an
// agent and its stewards must be of one build.
const Self = "/proc/self/exe"

// Slot is the place of a steward on its node.
type Slot struct {
	// Exe is the program that runs as steward when its first argument is
	// "steward".
	Exe string
	// RunDir holds the sockets; it must be the agent's own, mode 0700.
	RunDir string
	// Number identifies the slot, and its control group, on the node.
	Number int
	// Cluster and Node name the control group's parent (package cgroup).
	Cluster, Node string
	// Cgroups means that the slot has a control group, which must exist.
	Cgroups bool
	// Grace is how long a job goes on without an agent; 0: it ends at once.
	Grace time.Duration
	// PrivateShm gives its jobs a /dev/shm of their own (package privateshm).
	PrivateShm bool
	// PrivateIPC gives its jobs an IPC namespace of their own (package privateipc). It needs
	// PrivateShm.
	PrivateIPC bool
	// CPUs are the kernel's numbers of the CPUs that it keeps to; none: all that this process may
	// use.
	CPUs []int
	// Stderr gets the steward's own error messages, which are rare; nil: they are dropped.
	Stderr *os.File
}

const (
	socketPrefix = "s-"
	socketSuffix = ".sock"
)

// Socket returns the path of a slot's socket.
func Socket(runDir string, number int) string {
	return filepath.Join(runDir, socketPrefix+strconv.Itoa(number)+socketSuffix)
}

// arguments returns the first arguments of a slot's steward, which no other process has.
func (s Slot) arguments() []string {
	return []string{"steward", "--slot", strconv.Itoa(s.Number), "--cluster", s.Cluster, "--node", s.Node}
}

// Slots lists the slots that have a socket in runDir, so that a restarted agent finds its stewards.
// Some may have ended.
func Slots(runDir string) ([]int, error) {
	entries, err := os.ReadDir(runDir)
	if err != nil {
		return nil, fmt.Errorf("looking for stewards: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), socketSuffix)
		if !ok {
			continue
		}
		if digits, ok = strings.CutPrefix(digits, socketPrefix); !ok {
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// Start starts a warm steward in a free slot. It can be dialled at once: its socket is already
// listening.
func Start(slot Slot) (*Process, error) {
	p := &Process{Socket: Socket(slot.RunDir, slot.Number), done: make(chan struct{})}
	p.ended, p.kill = p.childEnded, p.killChild
	listener, err := listen(p.Socket)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	p.cmd = exec.Command(slot.Exe, append(slot.arguments(),
		"--cgroups="+strconv.FormatBool(slot.Cgroups),
		"--private-shm="+strconv.FormatBool(slot.PrivateShm),
		"--private-ipc="+strconv.FormatBool(slot.PrivateIPC),
		"--agent-grace", slot.Grace.String())...)
	if slot.Exe == Self {
		p.cmd.Args[0] = "scored" // the name that people look for in a list of processes
	}
	p.cmd.ExtraFiles = []*os.File{listener} // descriptor 3
	if slot.Stderr != nil {
		p.cmd.Stderr = slot.Stderr
	}
	// A session of its own: ^C on the terminal of an embedded agent is the
	// agent's to handle.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if slot.PrivateShm {
		p.cmd.SysProcAttr.Cloneflags = privateshm.CloneFlags
	}
	if err := startOn(slot.CPUs, p.cmd); err != nil {
		_ = os.Remove(p.Socket) // nobody listens there
		return nil, fmt.Errorf("starting a steward: %w", err)
	}
	p.Pid = p.cmd.Process.Pid
	go func() {
		defer close(p.done)
		awaitExit(p.cmd.Process)
		_ = p.cmd.Wait() // only its end matters, not its status
	}()
	return p, nil
}

// listen makes the socket and returns its file.
func listen(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("making a steward's socket: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("making a steward's socket: %w", err)
	}
	listener.SetUnlinkOnClose(false) // closing this copy must leave the steward's
	defer func() { _ = listener.Close() }()
	file, err := listener.File()
	if err != nil {
		return nil, fmt.Errorf("making a steward's socket: %w", err)
	}
	return file, nil
}
