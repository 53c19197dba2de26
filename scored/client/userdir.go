package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

const (
	// maxUserDir keeps the run directory of an agent of scored dev, which has up to 28 bytes more
	// (dev-4294967295/agents/n4096), within the 80 bytes that agents allow.
	maxUserDir = 52

	usualTempDir = "/tmp"
)

// UserDir returns the user's own directory for sockets: $XDG_RUNTIME_DIR/score, $TMPDIR/score-UID
// where that is not usable, or else /tmp/score-UID. If it is missing the error is fs.ErrNotExist. A
// directory to which others can write is an error, since they could listen in the user's name.
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
	runtimeDir := os.Getenv("XDG_RUNTIME_DIR")
	// Another user's directory is what sudo leaves in the environment.
	if dir := filepath.Join(runtimeDir, "score"); canHold(dir) && checkOwn(runtimeDir, os.Getuid()) == nil {
		return dir
	}
	name := "score-" + strconv.Itoa(os.Getuid())
	if dir := filepath.Join(os.TempDir(), name); canHold(dir) {
		return dir
	}
	return filepath.Join(usualTempDir, name)
}

// canHold reports whether a directory can be made and sockets in it have names that the kernel takes
// and that fit on a line.
func canHold(dir string) bool {
	info, err := os.Stat(filepath.Dir(dir))
	return filepath.IsAbs(dir) && len(dir) <= maxUserDir && !strings.ContainsFunc(dir, unicode.IsControl) &&
		err == nil && info.IsDir()
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
