package launch

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// AsUser runs f with the rights of the user and no others: what f opens, creates,
// writes or looks at, it does as if the user did. With nil, without being root, or
// for root himself, f just runs.
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

// NewActor starts the thread. Who has it closes it.
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

// isCaller reports whether the user has just the ids of this process.
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
// system ids, and takes all capabilities from it. The kernel judges all use of files
// by these. The real and the saved ids stay: by them it judges who may send signals
// to a thread, trace it or set its limits, and its process is still root's. Nor may
// it be traced by its effective id.
func becomeForFiles(u *User) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("%w: keeping this process from being traced: %w", ErrUser, err)
	}
	if err := setThreadGroups(u.Groups); err != nil {
		return fmt.Errorf("%w: setting the groups of user %d: %w", ErrUser, u.UID, err)
	}
	if err := setThreadEffectiveIDs(u.UID, u.GID); err != nil {
		return fmt.Errorf("%w: the kernel refuses to let this thread act as user %d, group %d: %w", ErrUser, u.UID, u.GID, err)
	}
	if u.UID == 0 {
		return nil // root's rights are his capabilities
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("%w: giving up capabilities: %w", ErrUser, err)
	}
	return nil
}

var errCapabilities = errors.New("some are left")

// dropCapabilities takes all capabilities from this thread: effective, permitted,
// inheritable and, with these, ambient ones (capabilities(7)).
func dropCapabilities() error {
	const words = 2 // of version 3, each of 32 capabilities
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [words]unix.CapUserData
	if err := unix.Capset(&head, &data[0]); err != nil {
		return err
	}
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	if data != [words]unix.CapUserData{} {
		return errCapabilities
	}
	return nil
}
