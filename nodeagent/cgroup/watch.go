package cgroup

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel wakes a poll on cgroup.events at once for the first change, and after that at most
// every 10 ms (CGROUP_FILE_NOTIFY_MIN_INTV): with slices of 10 ms the wake-up for a freeze can come
// a whole slice late, although the file is always up to date. So a poll here also ends by a timer,
// which is short at first, since a freeze takes some ten microseconds, and then doubles.
const (
	pollFirst = 20 * time.Microsecond
	pollLast  = time.Millisecond
)

// eventsBytes holds all of cgroup.events: "populated 0\nfrozen 0\n".
const eventsBytes = 64

// watch waits for one key of cgroup.events. It has one user at a time.
type watch struct {
	key  []byte
	poll [1]unix.PollFd
	buf  [eventsBytes]byte
}

func newWatch(dir, key string) (*watch, error) {
	fd, err := openAt(dir, "cgroup.events", unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	w := &watch{key: []byte(key)}
	w.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLPRI}
	return w, nil
}

func (w *watch) close() { unix.Close(int(w.poll[0].Fd)) }

// waitFor returns true once the key has the value, and false at the deadline. It reads the file
// before every poll, which also arms the poll for later changes.
func (w *watch) waitFor(value byte, deadline time.Time) (bool, error) {
	pause := pollFirst
	for {
		is, err := w.is(value)
		if is || err != nil {
			return is, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		ts := unix.NsecToTimespec(int64(min(pause, left)))
		if _, err := unix.Ppoll(w.poll[:], &ts, nil); err != nil && err != unix.EINTR {
			return false, err
		}
		pause = min(2*pause, pollLast)
	}
}

func (w *watch) is(value byte) (bool, error) {
	n, err := unix.Pread(int(w.poll[0].Fd), w.buf[:], 0)
	if err != nil {
		return false, err
	}
	at := bytes.Index(w.buf[:n], w.key)
	at += len(w.key)
	return at >= len(w.key) && at < n && w.buf[at] == value, nil
}
