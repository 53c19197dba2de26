package userfs

import (
	"errors"
	"os"
	"path/filepath"

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

// ErrMount means that something is mounted at a path.
var ErrMount = errors.New("something is mounted there; unmount it")

// OpenEntry opens the name at the end of a path, without following a link there, and without asking
// a file system that a user has mounted there: it might never answer.
func OpenEntry(path string, flags int) (*os.File, error) {
	up, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	defer unix.Close(up)
	fd, err := openBelow(up, filepath.Base(path), flags)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// StatEntry returns the status of the name at the end of a path, like OpenEntry.
func StatEntry(path string) (st unix.Stat_t, err error) {
	entry, err := OpenEntry(path, unix.O_PATH)
	if err != nil {
		return st, err
	}
	defer entry.Close()
	return st, unix.Fstat(int(entry.Fd()), &st)
}

// openBelow opens a name of a directory, unless it is a link or something is mounted there.
func openBelow(dir int, name string, flags int) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		switch fd, err = unix.Openat2(dir, name, &how); {
		case errors.Is(err, unix.EXDEV):
			return -1, ErrMount
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		default:
			return fd, err
		}
	}
}
