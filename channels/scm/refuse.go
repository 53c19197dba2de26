package scm

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// passRights is SO_PASSRIGHTS of asm-generic/socket.h, which package unix does not have yet.
const passRights = 83

// Refuse makes sending descriptors to a Unix socket, and to those accepted from a listening one,
// fail with EPERM. Otherwise the kernel closes a descriptor that the receiver does not take, in the
// thread that reads: if its file is on a file system that never answers, the thread cannot even be
// killed. Linux has that since 6.16; before, Refuse does nothing and returns false.
func Refuse(socket syscall.Conn) (refuses bool) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		refuses = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, passRights, 0) == nil
	})
	return err == nil && refuses
}
