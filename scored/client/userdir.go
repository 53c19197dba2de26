package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxUserDir keeps the socket paths below UserDir within sun_path, which holds
// 108 bytes (unix(7)): a cluster's directory, an agent's and a name come after it.
const maxUserDir = 40

// UserDir returns the user's own directory for sockets: $XDG_RUNTIME_DIR/score, or /tmp/score-UID
// where that is not usable. If it is missing the error is fs.ErrNotExist. A directory to which others
// can write is an error, since they could listen in the user's name.
func UserDir() (string, error) {
	dir := ownUserDir()
	return dir, checkOwn(dir, os.Getuid())
}

// MakeUserDir is UserDir, and makes the directory if it is missing.
func MakeUserDir() (string, error) {
	dir := ownUserDir()
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("cannot make the directory for sockets: %w", err)
	}
	return dir, checkOwn(dir, os.Getuid())
}

func ownUserDir() string {
	if runtimeDir := os.Getenv("XDG_RUNTIME_DIR"); usableRuntimeDir(runtimeDir, os.Getuid()) {
		return filepath.Join(runtimeDir, "score")
	}
	return filepath.Join(os.TempDir(), "score-"+strconv.Itoa(os.Getuid()))
}

// usableRuntimeDir refuses another user's directory, which sudo leaves in the
// environment.
func usableRuntimeDir(dir string, uid int) bool {
	if !filepath.IsAbs(dir) || len(dir) > maxUserDir {
		return false
	}
	return checkOwn(dir, uid) == nil
}

// checkOwn requires a directory, not a link, that belongs to this user and is closed to others.
func checkOwn(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	var advice string
	switch {
	case !ok || int(stat.Uid) != uid:
		advice = "it is another user's: set TMPDIR to a directory of your own, or have root remove it"
	case !info.IsDir():
		advice = "remove it"
	case info.Mode().Perm()&0o077 != 0:
		advice = "chmod 700 it"
	default:
		return nil
	}
	return fmt.Errorf("%s is not a directory of yours alone (mode 0700), so its sockets cannot be trusted: %s", dir, advice)
}
