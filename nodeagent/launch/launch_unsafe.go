package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// endedChild returns a child that has ended, and leaves its status to be read. It reads the process
// id where waitid(2) puts si_pid, right after the header, since x/sys names only the header.
func endedChild() (pid int, ok bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return 0, false
		}
	}
	const pidOffset = 16 // 12 bytes of header, aligned for the union's pointers
	pid = int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), pidOffset)))
	return pid, pid > 0
}

// setThreadGroups sets the supplementary groups of the calling thread alone;
// syscall.Setgroups would set those of all threads.
func setThreadGroups(groups []uint32) error {
	var first unsafe.Pointer
	if len(groups) > 0 {
		first = unsafe.Pointer(&groups[0])
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// setThreadRealIDs sets the real user and group ids of the calling thread alone. The effective and
// saved ids stay, and so do its privileges.
func setThreadRealIDs(uid, gid int) error {
	const keep = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), keep, keep); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), keep, keep); errno != 0 {
		return errno
	}
	return nil
}

// setThreadEffectiveIDs sets the effective and file system user and group ids of the calling thread
// alone. The real and saved ids stay.
func setThreadEffectiveIDs(uid, gid uint32) error {
	const keep = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(gid), keep); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return errno
	}
	return nil
}

// ownPrlimit sets and reads a limit of this process. Go's own call would remember a limit on open
// files and set it in children.
func ownPrlimit(resource int, set, old *unix.Rlimit) error {
	const self = 0
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, self, uintptr(resource),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
