package socket

import (
	"errors"
	"fmt"
	"score/scored/api"
	"score/scored/api/scorev1"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrNoLimits is a process whose resource limits cannot be read.
var ErrNoLimits = errors.New("the resource limits of the program that submits cannot be read")

// maxProcFile bounds what is read from a process's files: both have some KiB.
const maxProcFile = 64 << 10

// usualProcFile has room for such a file, so that one call reads it and another finds its end.
const usualProcFile = 4 << 10

// PeerLimits returns the present resource limits of the process that made the
// connection. It returns an error for a process that has ended, or runs as
// another user by now: its number could belong to another process, and its
// limits to a set-user-id program. The error wraps ErrNoLimits.
//
// They are read from /proc, since prlimit takes CAP_SYS_RESOURCE for processes of
// others. A pidfd guards against reuse of the number: as long as it names a
// process, the number is that process's.
func PeerLimits(c syscall.Conn) ([]*scorev1.ResourceLimit, error) {
	pidfd := -1
	var pidErr error
	who, err := Peer(c, func(fd int) { pidfd, pidErr = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLimits, err)
	}
	if who.Pid <= 0 {
		return nil, fmt.Errorf("%w: it runs where this daemon cannot see it; run the daemon outside of containers", ErrNoLimits)
	}
	if errors.Is(pidErr, unix.ENOPROTOOPT) { // before Linux 6.5
		pidfd, pidErr = unix.PidfdOpen(int(who.Pid), 0)
	}
	if pidErr != nil {
		return nil, fmt.Errorf("%w: it has ended; a program must stay until its submission is answered", ErrNoLimits)
	}
	defer unix.Close(pidfd)
	return limitsOf(who, pidfd)
}

// limitsOf reads the limits of a process by its number, which pidfd guards.
func limitsOf(who *unix.Ucred, pidfd int) ([]*scorev1.ResourceLimit, error) {
	dir, err := unix.Open("/proc/"+strconv.Itoa(int(who.Pid)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; it has ended, or /proc hides it", ErrNoLimits, err)
	}
	defer unix.Close(dir)
	// The directory belongs to the process that had the number when it was opened.
	if err := unix.PidfdSendSignal(pidfd, 0, nil, 0); errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("%w: it has ended; a program must stay until its submission is answered", ErrNoLimits)
	}
	text, err := readAt(dir, "limits")
	if err != nil {
		return nil, err
	}
	status, err := readAt(dir, "status") // after the limits: an exec before them shows
	if err != nil {
		return nil, err
	}
	if !allIDs(status, who.Uid) {
		return nil, fmt.Errorf("%w: it runs as another user by now", ErrNoLimits)
	}
	return parseLimits(text)
}

func readAt(dir int, name string) (string, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrNoLimits, name, err)
	}
	defer unix.Close(fd)
	text := make([]byte, 0, usualProcFile)
	for len(text) < maxProcFile {
		text = slices.Grow(text, 1)
		n, err := unix.Read(fd, text[len(text):cap(text)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return "", fmt.Errorf("%w: %s: %w", ErrNoLimits, name, err)
		case n == 0:
			return string(text), nil
		default:
			text = text[:len(text)+n]
		}
	}
	return string(text), nil
}

// allIDs reports whether the real, effective, saved and file system ids of a
// /proc/PID/status are all the user's.
func allIDs(status string, uid uint32) bool {
	const ids = 4
	want := strconv.FormatUint(uint64(uid), 10)
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		for _, id := range fields {
			if id != want {
				return false
			}
		}
		return len(fields) == ids
	}
	return false
}

// limitNameWidth is the width of the first column of /proc/PID/limits; names contain spaces.
const limitNameWidth = 26

// parseLimits reads a /proc/PID/limits. Behind the title there is a line for each
// limit, in the order of their numbers.
func parseLimits(text string) ([]*scorev1.ResourceLimit, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")[1:]
	if len(lines) < api.ResourceLimits {
		return nil, fmt.Errorf("%w: %d limits instead of %d", ErrNoLimits, len(lines), api.ResourceLimits)
	}
	limits := make([]*scorev1.ResourceLimit, api.ResourceLimits)
	for resource := range limits {
		line := lines[resource]
		if len(line) < limitNameWidth {
			return nil, fmt.Errorf("%w: line %q", ErrNoLimits, line)
		}
		fields := strings.Fields(line[limitNameWidth:])
		if len(fields) < 2 {
			return nil, fmt.Errorf("%w: line %q", ErrNoLimits, line)
		}
		soft, softErr := limitValue(fields[0])
		hard, hardErr := limitValue(fields[1])
		if err := errors.Join(softErr, hardErr); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLimits, err)
		}
		limits[resource] = &scorev1.ResourceLimit{Resource: uint32(resource), Soft: soft, Hard: hard}
	}
	return limits, nil
}

func limitValue(word string) (uint64, error) {
	if word == "unlimited" {
		return unix.RLIM_INFINITY, nil
	}
	return strconv.ParseUint(word, 10, 64)
}
