package userfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// deepen makes directories below each other, and a file in each.
func deepen(t *testing.T, path string, depth int) {
	t.Helper()
	at, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range depth {
		if err != nil {
			t.Fatal(err)
		}
		var next, file int
		if err = unix.Mkdirat(at, "d", 0o700); err != nil {
			continue
		}
		if file, err = unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err != nil {
			continue
		}
		unix.Close(file)
		next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(at)
		at = next
	}
	unix.Close(at)
}

// However deep a tree is, few descriptors are enough.
func TestRemoveDeep(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	const depth, few = 20_000, 64
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	deepen(t, dir, depth)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	low := before
	low.Cur = few
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	err := RemoveAll(t.Context(), dir)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// Directories that their owner has closed go, links are not followed, and what has the
// names that moved directories get goes too.
func TestRemoveAll(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "kept")
	top := filepath.Join(t.TempDir(), "tree")
	closed := filepath.Join(top, "closed")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(outside, nil, 0o600))
	must(os.MkdirAll(filepath.Join(closed, "sub"), 0o700))
	must(os.MkdirAll(filepath.Join(top, movedPrefix+"1", "sub"), 0o700))
	must(os.Symlink(filepath.Dir(outside), filepath.Join(top, "link")))
	for range 2 * nameBatch {
		file, err := os.CreateTemp(closed, "many")
		must(err)
		file.Close()
	}
	deepen(t, top, 3*maxDepth)
	must(os.Chmod(closed, 0))
	must(RemoveAll(t.Context(), top))
	if _, err := os.Lstat(top); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if _, err := os.Lstat(outside); err != nil {
		t.Error(err)
	}
	must(RemoveAll(t.Context(), top))
	must(os.Symlink(filepath.Dir(outside), top))
	must(RemoveAll(t.Context(), top))
	if _, err := os.Lstat(outside); err != nil {
		t.Error(err)
	}
}

// What is said of a name that a user has chosen is short.
func TestRemoveSaysLittle(t *testing.T) {
	err := RemoveAll(t.Context(), "/proc/"+strings.Repeat("x", 200)+"/y")
	if err != nil {
		t.Errorf("nothing is there: %v", err)
	}
	if err := RemoveAll(t.Context(), "/proc/self/"+strings.Repeat("../self/", 100)+"status"); err == nil || len(err.Error()) > 200 {
		t.Errorf("%v", err)
	}
}
