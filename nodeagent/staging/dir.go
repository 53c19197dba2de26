package staging

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"strconv"

	"golang.org/x/sys/unix"
)

// dirMode lets users reach their own directories, but not list the others.
const dirMode = 0o711

func (c *Cache) openDir() error {
	err := os.MkdirAll(c.dir, dirMode)
	if err == nil {
		err = os.Chmod(c.dir, dirMode) // the process's umask may have cleared bits
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Lstat(c.dir, &st)
	}
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid()) {
		err = errors.New("it is not a directory of the agent's own")
	}
	if err != nil {
		return fmt.Errorf("files that are sent along with jobs cannot be kept in %s: %w; name another directory with stage_dir", c.dir, err)
	}
	return nil
}

// userDir returns the directory of a user's files.
func (c *Cache) userDir(uid uint32) string {
	return filepath.Join(c.dir, strconv.FormatUint(uint64(uid), 10))
}

func (c *Cache) path(k key) string {
	return filepath.Join(c.userDir(k.uid), hex.EncodeToString(k.sum[:]))
}

// makeUserDir makes a user's directory and, as root, gives it to the user. The directory may exist
// without having been given: a concurrent call, or an agent that died, may have made it.
func (c *Cache) makeUserDir(u *launch.User) error {
	if err := c.openDir(); err != nil {
		return err
	}
	dir := c.userDir(u.UID)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(dir, int(u.UID), int(u.GID))
}

// remove removes the file of a key, ignoring errors.
func (c *Cache) remove(k key) { _ = removeAs(k.uid, c.path(k)) }

// removeAs removes a file with its user's permissions, so that no link in the user's directory
// leads elsewhere. The directory is the user's own, so that groups do not matter.
func removeAs(uid uint32, path string) error {
	return launch.AsUser(&launch.User{UID: uid, GID: uid}, func() error { return os.Remove(path) })
}
