package wakesource

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var nobodyWakes uint32

// sleepForEver is a futex without a time.
func sleepForEver() {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&nobodyWakes)), futexWait, 0, 0, 0, 0)
}

// waitLikeGo waits as Go's monitor does, but for the time in a file, which it has mapped.
func waitLikeGo(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	const page = 4096
	var word uint32
	if file.Truncate(page) != nil {
		return
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	native.PutUint64(memory, monitorSeconds)
	for {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), futexWait|futexPrivate, 0, uintptr(unsafe.Pointer(&memory[0])), 0, 0)
	}
}
