package parentwatch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// descriptor is the child's end, the first descriptor after standard error.
	descriptor = 3

	// maxLine bounds the child's message: one sentence or one path.
	maxLine = 4096

	// StopTimeout is the time in which a child must end its jobs and remove its files. Killing a
	// job takes milliseconds, or a second or two on a machine that is out of memory.
	StopTimeout = 10 * time.Second
)

// ErrSilent means that a child ended without calling Ready or Failed.
var ErrSilent = errors.New("ended before it was ready")

// Child is a process at the other end of a line.
type Child struct {
	command *exec.Cmd
	line    *net.UnixConn
	ready   string // what came with Ready
	exited  chan struct{}
}

// Start runs command with a line and waits until the child is ready or has failed, or ctx ends. The
// child gets a session of its own: a ^C at the terminal reaches only the parent, which then stops
// the child in order, and where the kernel shares processors among sessions (sched(7), "autogroup")
// the child has a share beside those of the ranks, which have sessions, too.
func Start(ctx context.Context, command *exec.Cmd) (*Child, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	command.ExtraFiles = []*os.File{theirs}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = command.Start()
	theirs.Close()
	if err != nil {
		_ = ours.Close() // the other error is the one to tell
		return nil, fmt.Errorf("cannot start %s: %w", command.Path, err)
	}
	child := &Child{command: command, line: ours, exited: make(chan struct{})}
	go child.reap()
	if child.ready, err = child.await(ctx); err != nil {
		child.Stop()
		return nil, err
	}
	return child, nil
}

func pair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "lifeline")
	ours, err := connOf(fds[0])
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// connOf gives a socket to Go's poller, so that waiting needs no thread.
func connOf(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "lifeline")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is no lifeline: %w", fd, err)
	}
	line, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("descriptor %d is no lifeline", fd)
	}
	return line, nil
}

// await reads the child's only message.
func (c *Child) await(ctx context.Context) (string, error) {
	// It fails only on a closed line.
	stop := context.AfterFunc(ctx, func() { _ = c.line.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReaderSize(c.line, maxLine).ReadString('\n')
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	switch {
	case err == nil && word == wordReady:
		return rest, nil
	case err == nil && word == wordFailed:
		return "", errors.New(rest)
	default:
		return "", fmt.Errorf("%s %w", filepath.Base(c.command.Path), ErrSilent)
	}
}

func (c *Child) reap() {
	_ = c.command.Wait() // the socket has reported how it ended
	close(c.exited)
}

// ReadyText returns the text that the child passed to Ready.
func (c *Child) ReadyText() string { return c.ready }

// Exited returns a channel that is closed when the child has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// PID returns the child's process id.
func (c *Child) PID() int { return c.command.Process.Pid }

// Stop asks the child to end, and waits. After StopTimeout it kills the child.
func (c *Child) Stop() {
	_ = c.line.Close() // closed is all it has to be
	bound := time.NewTimer(StopTimeout)
	defer bound.Stop()
	select {
	case <-c.exited:
	case <-bound.C:
		_ = c.command.Process.Kill() // it may have ended just now
		<-c.exited
	}
}
