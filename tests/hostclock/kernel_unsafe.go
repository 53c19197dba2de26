package hostclock

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// data is struct seccomp_data.
type data struct {
	call    int32
	arch    uint32
	pointer uint64
	args    [6]uint64
}

// notice is struct seccomp_notif: a process waits in a call.
type notice struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	data  data
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// install gives the calling thread a filter and returns the listener that reports waiting threads.
// Root need not give up new privileges for that, which would bind the daemon as well.
func install(filter []unix.SockFilter) (listener int, err error) {
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return 0, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// receiveNotice takes the next notice.
func receiveNotice(listener int) (n notice, err error) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
	if errno != 0 {
		return n, fmt.Errorf("receiving a notice: %w", errno)
	}
	return n, nil
}

// letGoOn has the kernel make the call.
func letGoOn(listener int, id uint64) error {
	a := answer{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	if errno != 0 {
		return fmt.Errorf("answering: %w", errno)
	}
	return nil
}
