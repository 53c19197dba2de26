package mem

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// identity is the device and the inode of the file at the path below the directory. It is the
// system call itself: the function of package unix allocates a copy of the path. The path ends with
// a zero.
func identity(dir int, path []byte) (device, inode uint64, err error) {
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(dir), uintptr(unsafe.Pointer(&path[0])), 0,
		unix.STATX_INO, uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return 0, 0, errno
	}
	return unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, nil
}

// addressOf is the address of the first byte.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
