package userfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"score/tests/deadfs"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	plain, link := filepath.Join(dir, "plain"), filepath.Join(dir, "link")
	file, err := OpenFile(plain, os.O_WRONLY|os.O_CREATE, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Symlink("plain", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{plain, link, "/dev/null", dir} {
		fd, err := Open(path, unix.O_RDONLY, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		unix.Close(fd)
	}
	if _, err := Open(filepath.Join(dir, "none"), unix.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := Access(dir, unix.X_OK); err != nil {
		t.Error(err)
	}
	if err := Access(plain, unix.X_OK); !errors.Is(err, unix.EACCES) {
		t.Errorf("executing a plain file: %v", err)
	}
}

// Whatever the name, no file is opened that is the opening process's own in /proc.
func TestOpenNothingOfProc(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, to := range map[string]string{
		"maps": "/proc/self/maps", "comm": "/proc/thread-self/comm", "root": "/proc/self/root",
		"fd": fmt.Sprintf("/proc/self/fd/%d", file.Fd()), "cwd": fmt.Sprintf("/proc/%d/cwd", os.Getpid()),
		"iomem": "/proc/iomem",
	} {
		link := filepath.Join(dir, name)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{to, link} {
			if _, err := Open(path, unix.O_RDONLY, 0); !errors.Is(err, ErrProc) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(loop, unix.O_RDONLY, 0); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
}

// A file system that a user has mounted is not asked anything.
func TestMountsAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	mounted := filepath.Join(dir, "mounted")
	if err := os.Mkdir(mounted, 0o700); err != nil {
		t.Fatal(err)
	}
	deadfs.Dir(t, mounted)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if entry, err := OpenEntry(mounted, unix.O_RDONLY|unix.O_DIRECTORY); !errors.Is(err, ErrMount) {
			t.Errorf("opened %v: %v", entry, err)
		}
		if _, err := StatEntry(mounted); !errors.Is(err, ErrMount) {
			t.Error(err)
		}
		if err := RemoveAll(t.Context(), dir); !errors.Is(err, unix.EBUSY) {
			t.Error(err)
		}
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the file system was asked")
	}
	if _, err := StatEntry(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if st, err := StatEntry(dir); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		t.Errorf("%v, %v", st, err)
	}
}
