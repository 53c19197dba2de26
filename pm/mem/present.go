package mem

import (
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pageBytes is the size of a page.
var pageBytes = uint64(os.Getpagesize())

// CanProbe reports whether the system can answer Present: Linux from 5.14 on.
func CanProbe() bool {
	page := make([]byte, 1)
	return Present(addressOf(page), 1, true)
}

// Present reports whether this process has length bytes of memory at the address that it may read
// or, with write, change. The pages are there afterwards, and their content is as it was. What the
// program unmaps meanwhile is not noticed.
func Present(address, length uint64, write bool) bool {
	if address < pageBytes || address > math.MaxInt64 || length > math.MaxInt64 { // half of all is the kernel's
		return false
	}
	advice := uintptr(unix.MADV_POPULATE_READ)
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	end := address + length
	// In pieces, as copies: a freeze waits for a system call.
	for at := address - address%pageBytes; at < end; at += PieceBytes {
		n := min(end-at, PieceBytes)
		if !populate(uintptr(at), uintptr(n), advice) {
			return false
		}
	}
	return true
}

// populate has the system make the pages present, if there are any that allow it.
func populate(at, n, advice uintptr) bool {
	for {
		_, _, errno := syscall.Syscall(unix.SYS_MADVISE, at, n, advice)
		if !errors.Is(errno, unix.EINTR) && !errors.Is(errno, unix.EAGAIN) {
			return errno == 0
		}
	}
}
