package rpc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxGroups is NGROUPS_MAX of Linux.
const maxGroups = 65536

// firstGroups is the number of groups that the first call has room for; few users have more.
const firstGroups = 64

// peerGroups asks the kernel for the supplementary groups of a Unix socket's peer (SO_PEERGROUPS,
// since Linux 4.13). It is unsafe because package unix has no call for socket options that are
// arrays of numbers. The kernel writes at most size bytes into a slice that lives until the call
// returns.
func peerGroups(fd int) ([]uint32, error) {
	groups := make([]uint32, firstGroups)
	for {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return groups[:size/4], nil
		case errno == unix.ERANGE && size/4 > uint32(len(groups)) && size/4 <= maxGroups:
			groups = make([]uint32, size/4)
		default:
			return nil, errno
		}
	}
}
