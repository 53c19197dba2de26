package wakesource

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

var nobodyWakes uint32

// sleepForEver is a futex without a time.
func sleepForEver() {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&nobodyWakes)), futexWait, 0, 0, 0, 0)
}
