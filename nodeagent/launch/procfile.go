package launch

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Package os asks Go's poller to watch every file that it opens, which the kernel refuses for those
// of /proc. What is read and written for each job or rank does without these five system calls.

// procBytes is more than most files of /proc have.
const procBytes = 4096

// readProc reads a file of /proc.
func readProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open "+path, err)
	}
	defer unix.Close(fd)
	text := make([]byte, 0, procBytes)
	for {
		text = slices.Grow(text, procBytes/2)
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if n <= 0 || err != nil {
			return text, os.NewSyscallError("read "+path, err)
		}
		text = text[:len(text)+n]
	}
}

// writeProc writes to a file of /proc by one call.
func writeProc(path string, text []byte) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open "+path, err)
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, text)
	return os.NewSyscallError("write "+path, err)
}
