package userfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrProc means that a path leads into /proc, where the kernel would show the daemon
// that opens it instead of the user's program.
var ErrProc = errors.New("it is in /proc or leads through it, which would mean the daemon of the node; let the program open it")

// Open opens a file as open(2) does, and returns its descriptor. It follows no link
// of /proc (/proc/self/fd/3, /proc/7/cwd), since a process may always follow its own,
// and opens no file of /proc.
func Open(path string, flags int, mode uint32) (int, error) {
	flags |= unix.O_CLOEXEC
	if flags&unix.O_PATH == 0 { // with which openat2 takes no other flags
		flags |= unix.O_NOCTTY | unix.O_LARGEFILE
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode)
	}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return checked(fd, path)
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case errors.Is(err, unix.ELOOP) && !isLoop(path):
			return -1, &os.PathError{Op: "open", Path: path, Err: ErrProc}
		default:
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// isLoop reports whether a path has too many links. The kernel returns the same error for that as
// for a link of /proc.
func isLoop(path string) bool {
	var st unix.Stat_t
	return errors.Is(unix.Stat(path, &st), unix.ELOOP)
}

// checked returns a descriptor unless its file is in /proc.
func checked(fd int, path string) (int, error) {
	var fs unix.Statfs_t
	err := unix.Fstatfs(fd, &fs)
	if err == nil && fs.Type != unix.PROC_SUPER_MAGIC {
		return fd, nil
	}
	unix.Close(fd)
	if err == nil {
		err = ErrProc
	}
	return -1, &os.PathError{Op: "open", Path: path, Err: err}
}

// OpenFile is like Open, for a file that is read or written here.
func OpenFile(path string, flags int, mode os.FileMode) (*os.File, error) {
	fd, err := Open(path, flags, uint32(mode.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Access returns an error if the caller, by its effective ids, may not use a path in the given mode
// (unix.X_OK and others).
func Access(path string, mode uint32) error {
	fd, err := Open(path, unix.O_PATH, 0)
	if err != nil {
		return errors.Unwrap(err)
	}
	defer unix.Close(fd)
	return unix.Faccessat2(fd, "", mode, unix.AT_EACCESS|unix.AT_EMPTY_PATH)
}
