package mem

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Mapping is a peer's window as mapped by this process. It stays mapped at least until it was
// released as often as Map returned it.
type Mapping struct {
	memory []byte
	key    key
	path   []byte // of the owner's descriptor below /proc/PID, with a zero at the end

	// Guarded by the cache's lock. A mapping is in the cache's list of unused ones if users is 0
	// and it is kept.
	users       int
	kept        bool // the cache has it; if not, the last release unmaps it
	prev, after *Mapping
}

// key names a mapping in a cache.
type key struct {
	peer   *Peer
	handle Handle
}

// Map maps the peer's window, or returns the mapping that the cache has. Either way the peer has
// the window open when Map is called: ErrHandle if not, ErrGone if its process ended. The caller
// releases the mapping after use.
func (p *Peer) Map(h Handle) (*Mapping, error) { return p.cache.acquire(key{p, h}) }

// Bytes is the window's memory. It must not be used after Release. What it holds may change at any
// time: copy, then check.
func (m *Mapping) Bytes() []byte { return m.memory }

// Release ends one use of the mapping.
func (m *Mapping) Release() error { return m.key.peer.cache.release(m) }

// newMapping opens and maps the window.
func newMapping(k key) (*Mapping, error) {
	if err := k.handle.check(); err != nil {
		return nil, err
	}
	p := k.peer
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return nil, ErrClosed
	}
	path := "fd/" + strconv.FormatUint(uint64(k.handle.FD), 10)
	memory, err := p.open(path, k.handle)
	if err != nil {
		return nil, p.orGone(err)
	}
	return &Mapping{memory: memory, key: k, path: append([]byte(path), 0)}, nil
}

// open finds the file without opening it, since opening a device or a pipe could do something, and
// opens it once it is known to be the right one.
func (p *Peer) open(path string, h Handle) ([]byte, error) {
	found, err := unix.Openat(p.dir, path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, systemError("open /proc/PID/fd", err)
	}
	defer unix.Close(found)
	if err := checkFile(found, h); err != nil {
		return nil, err
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(found), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, systemError("open", err)
	}
	defer unix.Close(fd)
	return mapSealed(fd, h)
}

// checkFile refuses another file than the one that the handle names.
func checkFile(fd int, h Handle) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return systemError("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Dev != h.Device || st.Ino != h.Inode {
		return fmt.Errorf("%w: descriptor %d is another file", ErrHandle, h.FD)
	}
	if uint64(st.Size) != h.Size {
		return fmt.Errorf("%w: %d bytes are said to be %d", ErrHandle, st.Size, h.Size)
	}
	return nil
}

// mapSealed maps a file whose size is fixed. Only a memfd can have these seals. The size is read
// after the seals: from there on it does not change.
func mapSealed(fd int, h Handle) ([]byte, error) {
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || got&fixedSize != fixedSize {
		return nil, fmt.Errorf("%w: descriptor %d is not sealed", ErrHandle, h.FD)
	}
	if err := checkFile(fd, h); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(fd, 0, int(h.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: mapping %d bytes: %w", ErrMemory, h.Size, err)
	}
	return memory, nil
}

// recheck makes sure that the peer still has the window open.
func (m *Mapping) recheck() error {
	p := m.key.peer
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return ErrClosed
	}
	device, inode, err := identity(p.dir, m.path)
	if err != nil {
		return p.orGone(systemError("statx", err))
	}
	if device != m.key.handle.Device || inode != m.key.handle.Inode {
		return fmt.Errorf("%w: the window was closed", ErrHandle)
	}
	return nil
}

// orGone replaces the error if the process ended. Of such a process the system says that there is
// no file, or that it may not be opened.
func (p *Peer) orGone(err error) error {
	if errors.Is(err, ErrGone) || p.alive() {
		return err
	}
	return ErrGone
}

// unmap gives the address space back.
func (m *Mapping) unmap() error {
	memory := m.memory
	m.memory = nil
	if err := unix.Munmap(memory); err != nil {
		return fmt.Errorf("%w: munmap: %w", ErrSystem, err)
	}
	return nil
}
