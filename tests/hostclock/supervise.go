package hostclock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/channels/scm"

	"golang.org/x/sys/unix"
)

// Start starts a command whose process has the clock, as have the programs that it starts. Its
// files must be set.
func (c *Clock) Start(command *exec.Cmd) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := pair[0], os.NewFile(uintptr(pair[1]), "listener")
	defer unix.Close(ours)
	if command.Env == nil {
		command.Env = os.Environ()
	}
	// The descriptor's number in the launcher.
	command.Env = append(command.Env, fmt.Sprintf("%s=%d", variable, 3+len(command.ExtraFiles)), programVariable+"="+command.Path)
	command.ExtraFiles = append(command.ExtraFiles, theirs)
	command.Path = "/proc/self/exe"
	err = command.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	listener, err := receive(ours)
	if err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return err
	}
	c.supervising.Go(func() {
		defer unix.Close(listener)
		if err := c.supervise(listener); err != nil {
			c.fail(err)
		}
	})
	return nil
}

// receive takes the listener from the launcher.
func receive(from int) (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	said := make([]byte, 256)
	n, n2, _, _, err := unix.Recvmsg(from, said, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	fds, err := scm.Rights(control[:n2])
	if err != nil {
		return 0, err
	}
	if len(fds) != 1 {
		return 0, fmt.Errorf("%w: %s", ErrUnsupported, said[:n])
	}
	return fds[0], nil
}

func (c *Clock) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// supervise gives each program that begins the clock, until there is no more process that could
// begin one, or Close.
func (c *Clock) supervise(listener int) error {
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(c.stop[0])}}
		_, err := unix.Poll(poll, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case poll[1].Revents != 0 || poll[0].Revents&unix.POLLIN == 0:
			return nil
		}
		if err := c.serve(listener); err != nil {
			return err
		}
	}
}

// serve answers one waiting thread.
func (c *Clock) serve(listener int) error {
	n, err := receiveNotice(listener)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
		return nil // it was killed, or calls again
	}
	if err != nil {
		return err
	}
	// No step comes between the offset that it gets and its being known.
	c.mu.Lock()
	defer c.mu.Unlock()
	adopted := c.adopt(n.pid)
	err = letGoOn(listener, n.id)
	if errors.Is(err, unix.ENOENT) {
		return nil // it was killed
	}
	return errors.Join(adopted, err)
}
