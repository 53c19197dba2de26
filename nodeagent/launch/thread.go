package launch

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// thread holds the attributes that the Forker's thread has set on itself, for children to inherit.
type thread struct {
	usual  unix.CPUSet // the original affinity
	cpus   []int       // the present affinity, nil: usual
	umask  int         // the present mask, -1: unchanged
	sealed bool        // no-new-privileges is set, for ever
}

// setup prepares the calling thread for forking.
func (t *thread) setup() error {
	t.umask = -1
	if err := unix.SchedGetaffinity(0, &t.usual); err != nil {
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	// The thread gets a file mode mask and working directory of its own, so that the rest of the
	// process keeps its own.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unsharing the file mode mask: %w", err)
	}
	// Children inherit the forking thread's signal mask, which must be empty.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, new(unix.Sigset_t), nil); err != nil {
		return fmt.Errorf("clearing the signal mask: %w", err)
	}
	return t.usualPriority()
}

// usualPriority resets an agent's real-time or raised priority, which ranks must not inherit. A
// lowered priority stays, since somebody has set it on purpose.
func (t *thread) usualPriority() error {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("reading the priority: %w", err)
	}
	if attr.Policy == unix.SCHED_NORMAL && attr.Nice >= 0 {
		return nil
	}
	usual := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: max(attr.Nice, 0)}
	if err := unix.SchedSetAttr(0, &usual, 0); err != nil {
		return fmt.Errorf("setting the priority: %w", err)
	}
	return nil
}

func (t *thread) setCPUs(cpus []int) error {
	if slices.Equal(cpus, t.cpus) {
		return nil
	}
	set := t.usual
	if len(cpus) > 0 {
		set.Zero()
		for _, cpu := range cpus {
			set.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to CPUs %v: %w", cpus, err)
	}
	t.cpus = append(t.cpus[:0], cpus...)
	return nil
}

func (t *thread) setUmask(mask *uint32) {
	if mask == nil || t.umask == int(*mask&0o777) {
		return
	}
	t.umask = int(*mask & 0o777)
	unix.Umask(t.umask)
}

// seal keeps ranks from gaining privileges by a set-user-id program. It cannot be undone, so it is
// done only for ranks of users, never for root's.
func (t *thread) seal(u *User) error {
	uid := uint32(unix.Getuid())
	if u != nil {
		uid = u.UID
	}
	if uid == 0 && t.sealed {
		return fmt.Errorf("%w: this launcher has started ranks of a user before, and cannot start root's", ErrUser)
	}
	if uid == 0 || t.sealed {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("%w: setting no-new-privileges: %w", ErrUser, err)
	}
	t.sealed = true
	return nil
}

// OwnThread runs f on a goroutine locked to a thread that ends with it. It is never the process's
// first thread: Go parks that thread instead of ending it, so no parent-death signal would be sent,
// and /proc would show its credentials as those of the whole process.
func OwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(locked)
			f()
		}()
		<-locked // while this goroutine holds the first thread, the other gets another one
		runtime.UnlockOSThread()
	}()
}
