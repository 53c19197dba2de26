package sockowner

import (
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Holds reports whether a process has the socket with the inode open. It returns false for a
// process whose descriptors it may not see.
func Holds(pid int, inode uint64) bool {
	dir, err := openDescriptors(pid)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	want := "socket:[" + strconv.FormatUint(inode, 10) + "]"
	const some = 2048 // bytes of entries, so that a process with very many descriptors takes no memory
	var entries [some]byte
	var link [64]byte
	for {
		n, err := unix.Getdents(dir, entries[:])
		if err != nil || n <= 0 {
			return false
		}
		_, _, names := unix.ParseDirent(entries[:n], -1, nil)
		for _, name := range slices.Backward(names) { // what was opened last is last
			n, err := unix.Readlinkat(dir, name, link[:])
			if err == nil && string(link[:n]) == want {
				return true
			}
		}
	}
}

// Hides reports whether the kernel shows nobody but root which descriptors a process has: its
// program is a file that its user may execute and not read, or it has more rights than its user.
func Hides(pid int) bool {
	dir, err := openDescriptors(pid)
	if err != nil {
		return errors.Is(err, unix.EACCES)
	}
	_ = unix.Close(dir) // it was only read
	return false
}

func openDescriptors(pid int) (dir int, err error) {
	return unix.Open("/proc/"+strconv.Itoa(pid)+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}
