package wakesource

import (
	"golang.org/x/sys/unix"
)

// Descriptions of what a process does, for people.
const (
	forTime = "waits for a time"
	forFile = "waits for a file or socket"
)

// Operations of futex(2), without their flags.
const (
	futexWait       = 0
	futexWaitBits   = 9
	futexLockPI     = 6
	futexLockPI2    = 13
	futexCommand    = 0x7f
	futexPrivate    = 128
	monitorSeconds  = 60 // the period of Go's monitor thread when all else sleeps
	pollInfinite    = 0xffffffff
	watcherSockets  = 2 // pm's watcher waits for a context's socket and an eventfd
	bytesOfPollFd   = 8
	bytesOfTimespec = 16
)

// sourceOf describes the event outside the job that could end a thread's system call, "" if there
// is none.
func (p *process) sourceOf(c call) string {
	switch c.number {
	case unix.SYS_FUTEX:
		return p.futex(c)
	case unix.SYS_RESTART_SYSCALL:
		return p.restarted(c)
	case unix.SYS_WAIT4, unix.SYS_WAITID:
		return "" // its children are examined themselves
	case sysPoll:
		if uint32(c.args[2]) != pollInfinite {
			return forTime
		}
		return p.poll(c)
	case unix.SYS_PPOLL:
		if c.args[2] != 0 {
			return forTime
		}
		return p.poll(c)
	case sysEpollWait, unix.SYS_EPOLL_PWAIT:
		if int32(c.args[3]) >= 0 {
			return forTime
		}
		return forFile
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_RECVFROM, unix.SYS_RECVMSG,
		unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return "reads " + p.file(c.args[0])
	case unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP:
		return forTime
	default:
		return "is in system call " + itoa(c.number)
	}
}

// futex describes a futex wait as a wake source if it has a timeout, unless it only polls.
func (p *process) futex(c call) string {
	switch c.args[1] & futexCommand {
	case futexWait, futexWaitBits, futexLockPI, futexLockPI2:
	default:
		return "is in system call " + itoa(c.number)
	}
	if c.args[3] == 0 || p.onlyPolls(c) {
		return ""
	}
	return forTime
}

// onlyPolls reports whether a futex wait with a timeout is Go's monitor or pm's sleep.
func (p *process) onlyPolls(c call) bool {
	switch c.args[1] {
	case futexWait | futexPrivate:
		seconds, nanos, ok := p.timespec(c.args[3])
		return ok && seconds == monitorSeconds && nanos == 0
	case futexWait:
		return p.inImage(c.args[0])
	default:
		return false
	}
}

// restarted describes a call that a freeze of the gang has interrupted and the kernel restarts: a
// futex wait with a timeout, a poll or a sleep. It still has the arguments of the first call.
func (p *process) restarted(c call) string {
	if p.onlyPolls(c) || uint32(c.args[2]) == pollInfinite && p.watches(c) {
		return ""
	}
	return forTime
}

func (p *process) poll(c call) string {
	if p.watches(c) {
		return ""
	}
	return forFile
}

// watches reports whether a poll is pm's watcher.
func (p *process) watches(c call) bool {
	if c.args[1] != watcherSockets {
		return false
	}
	fds, ok := p.read(c.args[0], watcherSockets*bytesOfPollFd)
	if !ok {
		return false
	}
	inode, isSocket := p.socket(native.Uint32(fds))
	return isSocket && p.own.Sockets[inode] && p.file(uint64(native.Uint32(fds[bytesOfPollFd:]))) == "anon_inode:[eventfd]"
}
