// Package terminal makes the pseudoterminal of a rank whose user sits at a terminal.
package terminal

import (
	"errors"
	"score/nodeagent/launch"
	"score/nodeagent/steward/loop"
	"score/scored/api/scorev1"

	"golang.org/x/sys/unix"
)

const (
	// mode lets the user write to the terminal, and programs of group tty, like wall(1);
	// see grantpt(3).
	mode = 0o620
	// sameGroup makes chown keep a file's group, which is tty.
	sameGroup = -1
)

// New makes a pseudoterminal of a size for a user, nil for the caller. The master does not
// block.
func New(size *scorev1.Terminal, user *launch.User) (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, -1, explain(err)
	}
	defer func() {
		if err != nil {
			loop.CloseFD(master)
		}
	}()
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, -1, err
	}
	if slave, err = openPeer(master); err != nil {
		return -1, -1, err
	}
	if user != nil {
		err = errors.Join(unix.Fchown(slave, int(user.UID), sameGroup), unix.Fchmod(slave, mode))
	}
	if err = errors.Join(err, Resize(master, size)); err != nil {
		loop.CloseFD(slave)
		return -1, -1, err
	}
	return master, slave, nil
}

// ErrNone means that the host has no more pseudoterminals: programs of all its users share them.
var ErrNone = errors.New("the host's pseudoterminals are all in use (kernel.pty.max); leave out --pty or use other nodes")

// explain returns ErrNone for the error of Linux for that, which speaks of a device without space.
func explain(err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return ErrNone
	}
	return err
}

// openPeer opens the slave of a pseudoterminal. It does not use its path, where another file system
// may be mounted.
func openPeer(master int) (slave int, err error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Resize sets the size of a terminal, and notifies the programs at it (SIGWINCH).
func Resize(fd int, size *scorev1.Terminal) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.GetRows()), Col: uint16(size.GetColumns())})
}
