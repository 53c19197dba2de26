package mem

import (
	"errors"
	"fmt"
	"score/channels/procstat"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Peer is another process of the job on this node, or this one. Its methods may be called from
// several goroutines.
type Peer struct {
	pid   int
	cache *Cache

	// mu is held for reading during a system call on the descriptors, and for writing while they
	// are closed. So Close waits for one piece of a copy, not for the whole.
	mu     sync.RWMutex
	closed bool
	pidfd  int
	dir    int // /proc/PID, which stays that of the process when another gets its number

	probe   sync.Once
	allowed bool
}

// OpenPeer opens the process with the number that started at the given clock tick after boot, as in
// /proc/PID/stat. It returns ErrGone if that process ended, whether or not another has its number.
// Mappings of the peer are kept in this cache.
func (c *Cache) OpenPeer(pid int, start uint64) (*Peer, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("%w: process number %d", ErrRange, pid)
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // the number of a thread
		err = unix.ESRCH
	}
	if err != nil {
		return nil, systemError("pidfd_open", err)
	}
	dir, err := unix.Open("/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(pidfd)
		return nil, procError("open /proc/PID", err)
	}
	p := &Peer{pid: pid, cache: c, pidfd: pidfd, dir: dir}
	if err := p.checkStart(start); err != nil {
		p.closeFiles()
		return nil, err
	}
	return p, nil
}

// checkStart makes sure that the descriptors are of the process that started then. That process is
// alive afterwards, so it had the number all the time.
func (p *Peer) checkStart(start uint64) error {
	fd, err := unix.Openat(p.dir, "stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return procError("open /proc/PID/stat", err)
	}
	defer unix.Close(fd)
	var buffer [procstat.Bytes]byte
	stat, err := procstat.ReadAt(fd, buffer[:])
	if err != nil {
		return procError("read /proc/PID/stat", err)
	}
	if stat.Start != start || !p.alive() {
		return ErrGone
	}
	return nil
}

// procError is systemError for files that each process has: without them, the process ended.
func procError(call string, err error) error {
	if procstat.Gone(err) {
		return fmt.Errorf("%w: %s: %w", ErrGone, call, err)
	}
	return systemError(call, err)
}

// alive needs the descriptors to be open.
func (p *Peer) alive() bool {
	fds := [1]unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds[:], 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

// Close closes the peer. Its mappings that are not in use are unmapped now, the others when they
// are released.
func (p *Peer) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	if !closed {
		p.closeFiles()
	}
	p.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return p.cache.forget(p)
}

func (p *Peer) closeFiles() {
	unix.Close(p.pidfd)
	unix.Close(p.dir)
}
