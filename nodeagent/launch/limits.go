package launch

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limit is one resource limit, setrlimit(2): the RLIMIT number and its values.
type Limit struct {
	Resource   int
	Soft, Hard uint64
}

// maxResource is the largest number of a limit in Linux, RLIMIT_RTTIME.
const maxResource = 15

// minStack is the least stack: argv, environment and libc's start need about
// a quarter of this, and the limit holds for this process's first thread too.
const minStack = 256 << 10

var limitNames = [maxResource + 1]string{
	"cpu", "fsize", "data", "stack", "core", "rss", "nproc",
	"nofile", "memlock", "as", "locks", "sigpending", "msgqueue", "nice", "rtprio", "rttime",
}

func (l Limit) String() string {
	name := fmt.Sprintf("limit %d", l.Resource)
	if l.Resource >= 0 && l.Resource <= maxResource {
		name = limitNames[l.Resource]
	}
	return fmt.Sprintf("%s %s/%s", name, amount(l.Soft), amount(l.Hard))
}

func amount(v uint64) string {
	if v == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return fmt.Sprint(v)
}

// ownLimit reports whether a limit is set on this process, which it does not hinder, and inherited:
// the stack, which must be set before exec since the kernel lays out the address space by it, and
// the core size. The Go runtime has its own stacks.
func ownLimit(resource int) bool {
	return resource == unix.RLIMIT_STACK || resource == unix.RLIMIT_CORE
}

// keptFromRanks reports whether ranks never get the limit, whatever their user may have elsewhere:
// a rank with a real-time or raised priority would delay the switch of gangs and other users'
// ranks.
func keptFromRanks(resource int) bool {
	return resource == unix.RLIMIT_RTPRIO || resource == unix.RLIMIT_NICE || resource == unix.RLIMIT_RTTIME
}

// denyPriority sets this process's limits on real-time and raised priorities to zero, for every
// rank to inherit. The launcher needs neither.
func denyPriority() error {
	for _, resource := range [...]int{unix.RLIMIT_RTPRIO, unix.RLIMIT_NICE} {
		if err := ownPrlimit(resource, new(unix.Rlimit), nil); err != nil {
			return fmt.Errorf("lowering %s: %w", limitNames[resource], err)
		}
	}
	return nil
}

// boundProcesses lowers this process's limit on its user's processes, for every rank to inherit:
// all ranks of a user together leave others some of the host's.
func boundProcesses(most uint64) error {
	var now unix.Rlimit
	if err := ownPrlimit(unix.RLIMIT_NPROC, nil, &now); err != nil {
		return fmt.Errorf("reading %s: %w", limitNames[unix.RLIMIT_NPROC], err)
	}
	if now.Max <= most {
		return nil
	}
	if err := ownPrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(now.Cur, most), Max: most}, nil); err != nil {
		return fmt.Errorf("lowering %s: %w", limitNames[unix.RLIMIT_NPROC], err)
	}
	return nil
}

// inheritedLimits returns the limits that a child inherits. The Go runtime raises the soft limit on
// open files for itself and restores the old value between fork and exec, without an interface to
// it: so this limit is read from a child that is stopped at its exec and never runs.
func inheritedLimits() ([maxResource + 1]unix.Rlimit, error) {
	var all [maxResource + 1]unix.Rlimit
	for resource := range all {
		if err := unix.Prlimit(0, resource, nil, &all[resource]); err != nil {
			return all, fmt.Errorf("reading %s: %w", limitNames[resource], err)
		}
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"limits"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		// Tracing is forbidden here. A rank's limit on files then counts as
		// different, and is refused with a sentence if somebody sets one.
		all[unix.RLIMIT_NOFILE] = unix.Rlimit{}
		return all, nil
	}
	defer discard(pid, -1)
	return all, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &all[unix.RLIMIT_NOFILE])
}

// takeOwn sets a limit on this process; every later rank inherits it.
func takeOwn(l Limit, inherited *unix.Rlimit) error {
	if l.Resource == unix.RLIMIT_STACK && l.Soft < minStack {
		return fmt.Errorf("%w: %v; a stack has at least %d bytes", ErrLimit, l, minStack)
	}
	wanted := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
	if err := unix.Prlimit(0, l.Resource, &wanted, nil); err != nil {
		return limitError(l, err)
	}
	*inherited = wanted
	return nil
}

// limitStopped sets limits on a child that is stopped at its exec for them, and lets it continue.
func limitStopped(pid int, limits []Limit, u *User) error {
	if len(limits) == 0 {
		return nil // it was not stopped
	}
	if err := waitStopped(pid); err != nil {
		return err
	}
	if err := asOwner(u, func() error { return setLimits(pid, limits) }); err != nil {
		return err
	}
	if err := unix.PtraceDetach(pid); err != nil {
		return fmt.Errorf("letting the process go: %w", err)
	}
	return nil
}

func setLimits(pid int, limits []Limit) error {
	for _, l := range limits {
		wanted := unix.Rlimit{Cur: l.Soft, Max: l.Hard}
		if err := unix.Prlimit(pid, l.Resource, &wanted, nil); err != nil {
			return limitError(l, err)
		}
	}
	return nil
}

// asOwner runs f with the right to set limits of the user's processes. The kernel requires
// CAP_SYS_RESOURCE or the user's real ids: without the capability this thread takes these ids for
// the moment. The user may signal the thread meanwhile, which is harmless, since the process works
// for nobody else.
func asOwner(u *User, f func() error) error {
	if u == nil || u.isSelf() || maySetOthers() {
		return f()
	}
	uid, gid := unix.Getuid(), unix.Getgid()
	if err := setThreadRealIDs(int(u.UID), int(u.GID)); err != nil {
		return fmt.Errorf("%w: %w", ErrUser, err)
	}
	err := f()
	if back := setThreadRealIDs(uid, gid); back != nil {
		return errors.Join(err, fmt.Errorf("%w: %w", ErrUser, back))
	}
	return err
}

// waitStopped waits until the child has stopped at its exec. It does not consume the status, so the
// Reaper still gets it if the child was killed before.
func waitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		return err
	}
}

func limitError(l Limit, err error) error {
	return fmt.Errorf("%w: %v: %w; the agent's own limits are lower, raise them or ask for less", ErrLimit, l, err)
}
