package mem

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Errors of the package; compare with errors.Is.
var (
	// ErrMemory: the system has no memory, or no room in the address space.
	ErrMemory = errors.New("mem: the system has no memory for this")
	// ErrHandle: the bytes are no handle, or the peer has no such window (any more).
	ErrHandle = errors.New("mem: the handle names no window of the peer")
	// ErrGone: the peer's process ended.
	ErrGone = errors.New("mem: the peer's process ended")
	// ErrDenied: the system does not let this process reach the peer's memory.
	ErrDenied = errors.New("mem: the system does not allow access to the peer's memory")
	// ErrFault: the peer has no memory at the address, or may not read or write it itself.
	ErrFault = errors.New("mem: the peer has no such memory at the address")
	// ErrRange: a size or an address is beyond what there can be.
	ErrRange = errors.New("mem: size or address out of range")
	// ErrClosed: the window or the peer was closed by this process.
	ErrClosed = errors.New("mem: closed")
	// ErrReleased: the mapping was released more often than it was mapped.
	ErrReleased = errors.New("mem: the mapping is not in use")
	// ErrSystem: a system call failed for a reason that this package does not know.
	ErrSystem = errors.New("mem: the system call failed")
)

// CopyError reports how much of a copy is certain. errors.Is finds what ended it.
type CopyError struct {
	Done int // bytes from the beginning that were surely copied; some after them may have been, too
	Err  error
}

func (e *CopyError) Error() string { return fmt.Sprintf("%v, after %d bytes", e.Err, e.Done) }

func (e *CopyError) Unwrap() error { return e.Err }

// systemError translates an error of a system call on a peer.
func systemError(call string, err error) error {
	sentinel := ErrSystem
	switch {
	case errors.Is(err, unix.ESRCH):
		sentinel = ErrGone
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOSYS):
		sentinel = ErrDenied
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ELOOP):
		sentinel = ErrHandle
	case errors.Is(err, unix.EFAULT):
		sentinel = ErrFault
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		sentinel = ErrMemory
	}
	return fmt.Errorf("%w: %s: %w", sentinel, call, err)
}
