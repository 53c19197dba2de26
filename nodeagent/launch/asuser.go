package launch

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// AsUser runs f with the rights of the user and no others: f opens, creates, writes and reads files
// as if the user did. For a nil user, for root, or in a process that is not root's, f just runs.
//
// Credentials belong to threads in Linux; the C library and Go's syscall
// package only make it look otherwise. So f runs on a thread of its own, which
// changes its ids by the raw calls, and is not used again. f must not start
// processes or goroutines that need the rights. Paths of the user's are opened by
// package userfs.
func AsUser(u *User, f func() error) error {
	a, err := NewActor(u)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Do(f)
}

// Actor is a thread that acts as a user for longer than one call of AsUser, so that
// each of many writes does not need a new thread. The zero Actor is the caller itself.
type Actor struct {
	work chan func() // nil: the caller's own thread has the user's rights
	done chan struct{}

	mu     sync.Mutex // guards closed, and sending on work
	closed bool
}

// NewActor starts the thread. The caller closes it.
func NewActor(u *User) (*Actor, error) {
	if u == nil || os.Geteuid() != 0 || u.isCaller() {
		return &Actor{}, nil
	}
	a := &Actor{work: make(chan func()), done: make(chan struct{})}
	ready := make(chan error)
	ownThread(func() {
		defer close(a.done)
		err := becomeForFiles(u)
		ready <- err
		if err != nil {
			return
		}
		for task := range a.work {
			task()
		}
	})
	if err := <-ready; err != nil {
		return nil, err
	}
	return a, nil
}

// Do runs f with the rights of the user and waits for it.
func (a *Actor) Do(f func() error) error {
	if a.work == nil {
		return f()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	result := make(chan error, 1)
	a.work <- func() { result <- f() }
	return <-result
}

// Close ends the thread.
func (a *Actor) Close() {
	if a.work == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		close(a.work)
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

// becomeForFiles gives this thread the user's groups and his effective and file
// system ids, and takes all capabilities from it that files have to do with. The kernel
// judges all use of files by these. The real and the saved ids stay: by them it judges
// who may send signals to a thread, trace it or set its limits, and its process is
// still root's. Nor may it be traced by its effective id.
func becomeForFiles(u *User) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("%w: keeping this process from being traced: %w", ErrUser, err)
	}
	if err := setThreadGroups(u.Groups); err != nil {
		return fmt.Errorf("%w: setting the groups of user %d: %w", ErrUser, u.UID, err)
	}
	if u.UID == 0 { // root's rights are his capabilities
		return actAs(u, func() error { return nil })
	}
	kept, err := keptCapabilities()
	if err != nil {
		return fmt.Errorf("%w: reading capabilities: %w", ErrUser, err)
	}
	return actAs(u, kept.take)
}

// actAs sets the ids, and then the capabilities. Nothing between may need memory.
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

// capabilities are sets of a thread's; version 3 has two words of 32 each.
type capabilities struct {
	head unix.CapUserHeader
	data [2]unix.CapUserData
}

// keptCapabilities are what is left to a thread that acts as a user: none but, if it has
// it, that of locking memory, which no use of a file asks for. All memory of an agent is
// locked, and without it the next piece that the Go runtime maps on this thread would be
// refused, which ends the process.
func keptCapabilities() (*capabilities, error) {
	c := &capabilities{head: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	if err := unix.Capget(&c.head, &c.data[0]); err != nil {
		return nil, err
	}
	lock := c.data[0].Permitted & (1 << unix.CAP_IPC_LOCK)
	c.data = [2]unix.CapUserData{{Effective: lock, Permitted: lock}}
	return c, nil
}

// take gives this thread just these. Ambient ones go with the inheritable (capabilities(7)).
func (c *capabilities) take() error { return unix.Capset(&c.head, &c.data[0]) }
