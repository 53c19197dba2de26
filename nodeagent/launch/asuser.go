package launch

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// AsUser runs f with the rights of the user and no others: f opens, creates, writes and reads files
// as the user would. For a nil user, for root, or in a process without root's rights, f runs as it
// is.
//
// In Linux credentials belong to threads; only the C library and Go's syscall package apply them to
// whole processes. So f runs on a thread of its own, which changes its ids by raw calls and is not
// used again. f must not start processes or goroutines that need the rights. It must open the
// user's paths with package userfs.
func AsUser(u *User, f func() error) error {
	a, err := NewActor(u)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Do(f)
}

// Actor is a thread that acts as a user for many calls, so that each of many writes does not need a
// new thread. The zero Actor runs on the caller's thread.
type Actor struct {
	worker *worker // nil: the caller's own thread has the user's rights
}

// NewActor starts the thread. The caller must close it.
func NewActor(u *User) (*Actor, error) {
	if u == nil || os.Geteuid() != 0 || u.isCaller() {
		return &Actor{}, nil
	}
	w, err := startWorker(func() error { return becomeForFiles(u) })
	if err != nil {
		return nil, err
	}
	return &Actor{worker: w}, nil
}

// Do runs f with the rights of the user and waits for it.
func (a *Actor) Do(f func() error) error {
	if a.worker == nil {
		return f()
	}
	return a.worker.do(f)
}

// Close ends the thread.
func (a *Actor) Close() {
	if a.worker != nil {
		a.worker.close()
	}
}

// isCaller reports whether the user has exactly the ids of this process.
func (u *User) isCaller() bool {
	if int(u.UID) != os.Geteuid() || int(u.GID) != os.Getegid() {
		return false
	}
	groups, err := unix.Getgroups()
	if err != nil || len(groups) != len(u.Groups) {
		return false
	}
	for i, group := range groups {
		if uint32(group) != u.Groups[i] {
			return false
		}
	}
	return true
}

// becomeForFiles gives this thread the user's groups and effective and file system ids, and drops
// all its capabilities that concern files. The kernel judges all use of files by these. The real
// and saved ids stay root's, since the kernel judges by them who may signal or trace a thread or
// set its limits. The process cannot be traced by its effective id either.
func becomeForFiles(u *User) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("%w: keeping this process from being traced: %w", ErrUser, err)
	}
	if err := setThreadGroups(u.Groups); err != nil {
		return fmt.Errorf("%w: setting the groups of user %d: %w", ErrUser, u.UID, err)
	}
	if u.UID == 0 { // root's rights are its capabilities
		return actAs(u, func() error { return nil })
	}
	kept, err := keptCapabilities()
	if err != nil {
		return fmt.Errorf("%w: reading capabilities: %w", ErrUser, err)
	}
	return actAs(u, kept.take)
}

// actAs sets the ids, and then the capabilities. No code in between may allocate memory.
func actAs(u *User, capabilities func() error) error {
	err := setThreadEffectiveIDs(u.UID, u.GID)
	if err == nil {
		err = capabilities()
	}
	if err != nil {
		return fmt.Errorf("%w: the kernel refuses to let this thread act as user %d, group %d: %w", ErrUser, u.UID, u.GID, err)
	}
	return nil
}

// capabilities holds the capability sets of a thread; version 3 has two words of 32 each.
type capabilities struct {
	head unix.CapUserHeader
	data [2]unix.CapUserData
}

// keptCapabilities returns the capabilities of a thread that acts as a user: none except
// CAP_IPC_LOCK, if it has it, which gives no rights to files. All memory of an agent is locked.
// Without this capability the kernel would refuse the Go runtime's next mapping on this thread,
// which ends the process.
func keptCapabilities() (*capabilities, error) {
	c := &capabilities{head: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	if err := unix.Capget(&c.head, &c.data[0]); err != nil {
		return nil, err
	}
	lock := c.data[0].Permitted & (1 << unix.CAP_IPC_LOCK)
	c.data = [2]unix.CapUserData{{Effective: lock, Permitted: lock}}
	return c, nil
}

// take gives this thread exactly these capabilities. Ambient ones are dropped with the inheritable
// ones (capabilities(7)).
func (c *capabilities) take() error { return unix.Capset(&c.head, &c.data[0]) }
