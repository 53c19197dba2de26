package launch

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// AsUser runs f with the file permissions of the user: what f opens, creates or
// looks at, it does as if the user did. With nil, without being root, or for
// root himself, f just runs.
//
// Credentials belong to threads in Linux; the C library and Go's syscall
// package only make it look otherwise. So f runs on a thread of its own, which
// changes its groups and its file system ids by the raw calls, and is not used
// again. f must not start processes or goroutines that need the permissions.
func AsUser(u *User, f func() error) error {
	if u == nil || os.Geteuid() != 0 || u.isCaller() {
		return f()
	}
	done := make(chan error, 1)
	ownThread(func() {
		if err := becomeForFiles(u); err != nil {
			done <- err
			return
		}
		done <- f()
	})
	return <-done
}

// isCaller tells whether the user has just the ids of this process.
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

// becomeForFiles takes the user's groups and file system ids. Leaving id 0 also
// takes the capabilities that override permissions (capabilities(7), "Effect of
// user ID changes").
func becomeForFiles(u *User) error {
	if err := setThreadGroups(u.Groups); err != nil {
		return fmt.Errorf("%w: setting the groups of user %d: %w", ErrUser, u.UID, err)
	}
	// These two return the former id, never an error: ask again to be sure.
	_ = unix.Setfsgid(int(u.GID))
	_ = unix.Setfsuid(int(u.UID))
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uint32(gid) != u.GID || uint32(uid) != u.UID {
		return fmt.Errorf("%w: the kernel refuses to let this thread act as user %d, group %d", ErrUser, u.UID, u.GID)
	}
	return nil
}
