package privateshm

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mountTable is the list of the mounts of this process; poll(2) shows changes of it, see proc(5).
const mountTable = "/proc/self/mountinfo"

// Mounts notices mounts of the host that do not reach the namespaces of the stewards that live. The
// nil Mounts never notices any.
type Mounts struct {
	// table is a bare descriptor: Go's poller would take each change for itself.
	table int
}

// WatchMounts returns a Mounts. It is nil if the mount of / is shared, as systemd makes it: then
// later mounts reach all stewards.
func WatchMounts() (*Mounts, error) {
	m, err := watch(mountTable)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(mountTable)
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("reading the host's mounts: %w", err)
	}
	if rootIsShared(text) {
		m.Close()
		return nil, nil
	}
	return m, nil
}

func watch(table string) (*Mounts, error) {
	fd, err := unix.Open(table, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("watching the host's mounts: %w", err)
	}
	return &Mounts{fd}, nil
}

// Changed reports whether the mounts have changed since the last call. One goroutine at a time may
// call it.
func (m *Mounts) Changed() bool {
	if m == nil {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(m.table), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLPRI != 0
}

// Close ends the watch. Changed must not be called afterwards.
func (m *Mounts) Close() {
	if m != nil {
		unix.Close(m.table)
	}
}

// rootIsShared reports whether the uppermost mount of / in a mount table passes later mounts on.
func rootIsShared(table []byte) (shared bool) {
	for line := range bytes.Lines(table) {
		// ID, parent, device, root, mount point, options, and optional fields up to a hyphen.
		fields := strings.Fields(string(line))
		const point, optional = 4, 6
		if len(fields) <= optional || fields[point] != "/" {
			continue
		}
		shared = false
		for _, field := range fields[optional:] {
			if field == "-" {
				break
			}
			shared = shared || strings.HasPrefix(field, "shared:")
		}
	}
	return shared
}
