package mem

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// fixedSize keeps every mapping valid: nobody can make the file shorter or longer.
	fixedSize = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	// seals of a window; nobody can take them off or add one. Writing stays allowed.
	seals = fixedSize | unix.F_SEAL_SEAL
	// allocationPiece is how much memory is asked for by one system call. A freeze interrupts the
	// call, and the kernel then gives back what the call had allocated. A large call would never
	// end in a gang that is frozen every few milliseconds; this one takes a fraction of one.
	allocationPiece = 1 << 20
)

// Window is memory that peers on the node can map: a memfd of fixed size, with all its pages there.
// Several goroutines may use it, but none beside Close.
type Window struct {
	fd     int
	memory []byte
	handle Handle
}

// NewWindow makes a window of at least size bytes, rounded up to pages, all zero. It returns
// ErrMemory if the system has none.
func NewWindow(size int) (*Window, error) {
	if size <= 0 || size > MaxWindow {
		return nil, fmt.Errorf("%w: a window of %d bytes", ErrRange, size)
	}
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	if !available(uint64(size)) {
		return nil, fmt.Errorf("%w: a window of %d bytes", ErrMemory, size)
	}
	fd, err := memfd()
	if err != nil {
		return nil, fmt.Errorf("%w: memfd_create: %w", ErrMemory, err)
	}
	w, err := newWindow(fd, size)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%w: a window of %d bytes: %w", ErrMemory, size, err)
	}
	return w, nil
}

func memfd() (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("score-window", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		return unix.MemfdCreate("score-window", flags)
	}
	return fd, err
}

func newWindow(fd, size int) (*Window, error) {
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, err
	}
	if err := allocate(fd, int64(size)); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	h := Handle{FD: uint32(fd), Size: uint64(size), Device: st.Dev, Inode: st.Ino}
	return &Window{fd: fd, memory: memory, handle: h}, nil
}

// allocate makes the system find the memory now. Without that, a page fault would find that there
// is none, and kill.
func allocate(fd int, size int64) error {
	for at := int64(0); at < size; {
		piece := min(size-at, allocationPiece)
		err := unix.Fallocate(fd, 0, at, piece)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		at += piece
	}
	return nil
}

// Bytes is the window's memory. It must not be used after Close.
func (w *Window) Bytes() []byte { return w.memory }

// Handle returns what a peer needs to map the window.
func (w *Window) Handle() Handle { return w.handle }

// Close gives the memory back to the system, also where peers still have it mapped: they read zeros
// there. No peer can map the window any more.
func (w *Window) Close() error {
	if w.memory == nil {
		return ErrClosed
	}
	size := int64(len(w.memory))
	err := unix.Munmap(w.memory)
	w.memory = nil
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	err = errors.Join(err, unix.Fallocate(w.fd, punch, 0, size), unix.Close(w.fd))
	if err != nil {
		return fmt.Errorf("%w: closing a window: %w", ErrSystem, err)
	}
	return nil
}
