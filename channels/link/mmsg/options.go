package mmsg

import "golang.org/x/sys/unix"

// Enlarge makes a queue of a socket as long as allowed: the option force needs a capability, the
// other one is bounded by a sysctl.
func Enlarge(fd, force, option, bytes int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, bytes) // the queue works at any length
	}
}
