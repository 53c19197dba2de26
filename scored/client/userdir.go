package client

import (
	"errors"
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

	runtimeVariable, tempVariable = "XDG_RUNTIME_DIR", "TMPDIR"
)

// UserDir returns the user's own directory for sockets: $XDG_RUNTIME_DIR/score, $TMPDIR/score-UID
// where that is not usable, or else /tmp/score-UID. If it is missing the error is fs.ErrNotExist. A
// directory to which others can write is an error, since they could listen in the user's name.
func UserDir() (string, error) {
	dir, _ := ownUserDir()
	return dir, checkOwn(dir, os.Getuid())
}

// MakeUserDir is UserDir, and makes the directory if it is missing.
func MakeUserDir() (string, error) {
	dir, _ := ownUserDir()
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("cannot make the directory for sockets: %w", err)
	}
	return dir, checkOwn(dir, os.Getuid())
}

// NoRoom adds to the error of a full file system, if the user's directory is there, what to do. It
// returns other errors as they are.
func NoRoom(err error) error {
	dir, variable := ownUserDir()
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if !full || !strings.Contains(err.Error(), dir) {
		return err
	}
	return fmt.Errorf("%w; free space in %s, or set %s to a directory with space", err, filepath.Dir(dir), variable)
}

// ownUserDir returns the user's directory and the environment variable that chooses its place.
func ownUserDir() (dir, variable string) {
	runtimeDir := os.Getenv(runtimeVariable)
	// Another user's directory is what sudo leaves in the environment.
	if dir := filepath.Join(runtimeDir, "score"); canHold(dir) && checkOwn(runtimeDir, os.Getuid()) == nil {
		return dir, runtimeVariable
	}
	name := "score-" + strconv.Itoa(os.Getuid())
	if dir := filepath.Join(os.TempDir(), name); canHold(dir) {
		return dir, tempVariable
	}
	return filepath.Join(usualTempDir, name), tempVariable
}

// canHold reports whether a directory can be made and sockets in it have names that the kernel
// takes and that fit on a line.
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
