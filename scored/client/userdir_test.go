package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What to do about a directory that is not one's own alone. In /tmp its owner alone can remove it.
func TestAdviceOnTheUsersDirectory(t *testing.T) {
	dir := t.TempDir()
	open, file := filepath.Join(dir, "open"), filepath.Join(dir, "file")
	if err := os.Mkdir(open, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, want string
		uid        int
	}{
		{open, "chmod 700 it", os.Getuid()},
		{file, "remove it", os.Getuid()},
		{open, "set TMPDIR to a directory of your own, or have root remove it", os.Getuid() + 1},
	} {
		if err := checkOwn(test.path, test.uid); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.path, err, test.want)
		}
	}
}

// TestNoRoom: the variable that chooses the place of a full directory is named, and for no other
// error.
func TestNoRoom(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", temp)
	dir, _ := ownUserDir()
	full := &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOSPC}
	want := "; free space in " + temp + ", or set TMPDIR to a directory with space"
	if err := NoRoom(full); !errors.Is(err, full) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	for _, other := range []error{
		nil, &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.EROFS}, &fs.PathError{Op: "mkdir", Path: "/other", Err: syscall.ENOSPC},
	} {
		if err := NoRoom(other); !errors.Is(err, other) || err != nil && err.Error() != other.Error() {
			t.Errorf("%v became %v", other, err)
		}
	}
}
