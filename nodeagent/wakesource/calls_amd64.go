package wakesource

import "golang.org/x/sys/unix"

// System calls that newer architectures have under other names only.
const (
	sysPoll      = unix.SYS_POLL
	sysEpollWait = unix.SYS_EPOLL_WAIT
)
