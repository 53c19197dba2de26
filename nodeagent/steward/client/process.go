package client

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a steward's process, started here or by a former agent.
type Process struct {
	// Socket is where it listens.
	Socket string
	// Pid is its process id.
	Pid   int
	cmd   *exec.Cmd // of a child
	pidfd *os.File  // of a process that is no child
	watch syscall.RawConn
	done  chan struct{}
	ended func() bool
	kill  func()
}

// Find returns the process of a steward that a former agent has started, by the pid that the
// steward has reported on a connection that is still open.
func Find(socket string, pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: process %d: %w", ErrGone, pid, err)
	}
	p := &Process{Socket: socket, Pid: pid, done: make(chan struct{}), pidfd: os.NewFile(uintptr(fd), "steward")}
	if p.watch, err = p.pidfd.SyscallConn(); err != nil {
		p.pidfd.Close()
		return nil, fmt.Errorf("watching a steward: %w", err)
	}
	p.ended, p.kill = p.strangerEnded, p.killStranger
	go func() {
		defer close(p.done)
		// It fails only when the file is closed, which happens after the end.
		_ = p.watch.Read(func(uintptr) bool { return p.strangerEnded() })
		p.pidfd.Close()
	}()
	return p, nil
}

// awaitExit waits in Go's poller until a child has exited. Wait alone would wait in a system call,
// which takes a thread, and one of the agent's few processors until the runtime's monitor notices.
// awaitExit returns early if the kernel has no pidfd that can be polled.
func awaitExit(child *os.Process) {
	copied := -1
	err := child.WithHandle(func(handle uintptr) {
		copied, _ = unix.FcntlInt(handle, unix.F_DUPFD_CLOEXEC, 0) // -1 if it fails
	})
	if err != nil || copied < 0 {
		return
	}
	if err := unix.SetNonblock(copied, true); err != nil { // without it os.File does not poll
		unix.Close(copied)
		return
	}
	pidfd := os.NewFile(uintptr(copied), "steward")
	defer pidfd.Close()
	if watch, err := pidfd.SyscallConn(); err == nil {
		_ = watch.Read(readable) // an error is the end, too
	}
}

// readable reports whether a descriptor is readable, as a pidfd is after the end of its process.
func readable(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// Done is closed when the steward has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the steward has exited. It may be true just before Done is closed.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return p.ended()
	}
}

func (p *Process) childEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == unix.ECHILD || err == nil && info.Signo != 0
}

// strangerEnded reports whether the pidfd is readable.
func (p *Process) strangerEnded() bool {
	ended := true
	// A closed file means the same.
	_ = p.watch.Control(func(fd uintptr) { ended = readable(fd) })
	return ended
}

func (p *Process) killChild() { _ = p.cmd.Process.Kill() } // it may have ended by itself

func (p *Process) killStranger() {
	_ = p.watch.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) }) // the same
}

// killWait bounds the wait for the end of a killed steward. The kernel takes milliseconds, but a
// process that hangs in it, as on a dead file system, may stay for ever.
const killWait = 2 * time.Second

// Kill kills the steward and waits for its end, at most for killWait. Its ranks die with it;
// processes that they started are left to the control group.
func (p *Process) Kill() {
	p.kill()
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	_ = os.Remove(p.Socket) // nobody listens there
}
