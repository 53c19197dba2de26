package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/launch"
	"score/scored/api/scorev1"

	"golang.org/x/sys/unix"
)

// endOfInput is what a person types at a terminal to end the input (VEOF, ^D): the first character
// completes a line that has begun, the second ends the input.
const endOfInput = "\x04\x04"

const (
	// terminalMode lets the user write to the terminal, and programs of group tty, like wall(1);
	// see grantpt(3).
	terminalMode = 0o620
	// sameGroup makes chown keep a file's group, which is tty.
	sameGroup = -1
)

// errTerminal means that no terminal can be made for a rank.
var errTerminal = errors.New("no pseudoterminal can be made")

// hasTerminal reports whether a rank's standard streams are a terminal.
func (j *job) hasTerminal(rank uint32) bool { return rank == 0 && j.spec.GetTerminal() != nil }

// openTerminal gives a rank a pseudoterminal. Everything that the rank writes to it is its standard
// output; its error output has ended.
func (b *batch) openTerminal(j *job, c *childFDs) error {
	master, slave, err := newTerminal(j.spec.GetTerminal(), j.user)
	if err != nil {
		return fmt.Errorf("%w: %w", errTerminal, err)
	}
	c.stdin, c.stdout, c.stderr = slave, slave, slave
	b.outputs = append(b.outputs, master)
	sink, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	b.sinks = append(b.sinks, sink)
	silent, write, err := pipe()
	if err != nil {
		return err
	}
	closeFD(write)
	b.outputs = append(b.outputs, silent)
	return notBlocking(silent)
}

// newTerminal makes a pseudoterminal of a size for a user, nil for the caller. The master does not
// block.
func newTerminal(size *scorev1.Terminal, user *launch.User) (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, -1, err
	}
	defer func() {
		if err != nil {
			closeFD(master)
		}
	}()
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, -1, err
	}
	if slave, err = openPeer(master); err != nil {
		return -1, -1, err
	}
	if user != nil {
		err = errors.Join(unix.Fchown(slave, int(user.UID), sameGroup), unix.Fchmod(slave, terminalMode))
	}
	if err = errors.Join(err, resize(master, size)); err != nil {
		closeFD(slave)
		return -1, -1, err
	}
	return master, slave, nil
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

// resize sets the size of a terminal, and notifies the programs at it (SIGWINCH).
func resize(fd int, size *scorev1.Terminal) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.GetRows()), Col: uint16(size.GetColumns())})
}
