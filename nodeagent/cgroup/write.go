package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeFile writes one word to a file of a group.
func writeFile(dir, name, text string) error {
	fd, err := unix.Open(filepath.Join(dir, name), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", filepath.Join(dir, name), err)
	}
	defer unix.Close(fd)
	// Writing a limit of cgroup v1 fails while a signal is pending, and Go's runtime sends signals
	// to its threads.
	_, err = unix.Write(fd, []byte(text))
	for errors.Is(err, unix.EINTR) {
		_, err = unix.Write(fd, []byte(text))
	}
	if err != nil {
		return fmt.Errorf("writing %q to %s: %w", text, filepath.Join(dir, name), err)
	}
	return nil
}
