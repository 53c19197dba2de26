//go:build !amd64

package wakesource

// System calls that this architecture does not have: no call has these numbers.
const (
	sysPoll      = -1
	sysEpollWait = -2
)
