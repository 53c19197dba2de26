package privateshm

import (
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// apart runs f on a thread with a mount namespace of its own, whose mounts nobody else sees.
func apart(t *testing.T, f func() error) {
	t.Helper()
	result := make(chan error)
	launch.OwnThread(func() {
		err := unix.Unshare(CloneFlags)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "")
		}
		if err != nil {
			result <- errors.Join(errNoRights, err)
			return
		}
		result <- f()
	})
	if err := <-result; errors.Is(err, errNoRights) {
		t.Skip("no mount namespace here: ", err)
	} else if err != nil {
		t.Error(err)
	}
}

var errNoRights = errors.New("no rights")

// enterHere is Enter for a thread.
func enterHere() (*Memory, error) { return enter("/proc/thread-self/ns/mnt", "/proc/self/ns/mnt") }

func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(Place)
	if err != nil {
		t.Error(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// What a job leaves is gone for the next one, and a file system that nothing was written to stays.
func TestRenew(t *testing.T) {
	apart(t, func() error {
		m, err := enterHere()
		if err != nil {
			return err
		}
		first := m.empty.Fsid
		for name, leave := range map[string]func() error{
			"a file":      func() error { return os.WriteFile(filepath.Join(Place, "x"), []byte("text"), 0o600) },
			"a directory": func() error { return os.Mkdir(filepath.Join(Place, "x"), 0o700) },
			"an open file": func() error {
				fd, err := unix.Open(filepath.Join(Place, "x"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
				t.Cleanup(func() { unix.Close(fd) })
				return err
			},
		} {
			if err := leave(); err != nil {
				return err
			}
			if err := m.Renew(); err != nil {
				return err
			}
			if left := names(t); len(left) > 0 {
				t.Errorf("%s: left: %q", name, left)
			}
			if m.empty.Fsid == first {
				t.Errorf("%s: the same file system", name)
			}
		}
		last := m.empty.Fsid
		if err := m.Renew(); err != nil {
			return err
		}
		var now unix.Statfs_t
		if err := unix.Statfs(Place, &now); err != nil || now.Fsid != last {
			t.Errorf("an unused file system was replaced: %v", err)
		}
		return nil
	})
}

// It has the size and the options of the host's, and bounds where the host's has none.
func TestLikeTheHost(t *testing.T) {
	for options, want := range map[string]unix.Statfs_t{
		"size=8M,nr_inodes=100": {Blocks: 8 << 20 / 4096, Files: 100},
		"size=0,nr_inodes=0":    {},
	} {
		apart(t, func() error {
			if err := unix.Mount("none", Place, "tmpfs", unix.MS_NOEXEC, options); err != nil {
				return err
			}
			m, err := enterHere()
			if err != nil {
				return err
			}
			got := m.empty
			if want.Files > 0 && (got.Blocks*uint64(got.Bsize) != want.Blocks*4096 || got.Files != want.Files) {
				t.Errorf("%s: %d blocks of %d, %d files", options, got.Blocks, got.Bsize, got.Files)
			}
			if got.Blocks == 0 || got.Files == 0 {
				t.Errorf("%s: no bounds: %+v", options, got)
			}
			const flags = unix.ST_NOEXEC | unix.ST_NOSUID | unix.ST_NODEV
			if got.Flags&flags != flags {
				t.Errorf("%s: flags %x", options, got.Flags)
			}
			info, err := os.Stat(Place)
			if err == nil && info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
				t.Errorf("%s: mode %v", options, info.Mode())
			}
			return err
		})
	}
}

// Nothing is mounted in the namespace of the host.
func TestEnterProtectsTheHost(t *testing.T) {
	var before unix.Statfs_t
	if err := unix.Statfs(Place, &before); err != nil {
		t.Skip("no /dev/shm here: ", err)
	}
	if _, err := Enter(); !errors.Is(err, errNamespace) {
		t.Errorf("Enter: %v", err)
	}
	if err := Check(); err != nil && !errors.Is(err, unix.EPERM) {
		t.Errorf("Check: %v", err)
	}
	var after unix.Statfs_t
	if err := unix.Statfs(Place, &after); err != nil || after.Fsid != before.Fsid {
		t.Errorf("the host has another /dev/shm: %v", err)
	}
}

func TestHides(t *testing.T) {
	for path, want := range map[string]bool{
		"": false, "/": false, "/dev": false, "/dev/shm": true, "/dev/shm/": true, "/dev/shm/x": true,
		"/dev/shmem": false, "/dev/../dev/shm/x": true, "/dev/shm/../x": false, "shm": false,
	} {
		if Hides(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

func TestRootIsShared(t *testing.T) {
	const private, shared = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n", "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
	for table, want := range map[string]bool{
		"": false, private: false, shared: true,
		"27 1 254:0 / / rw master:3 shared:1 - ext4 x rw\n":           true,
		"27 1 254:0 / / rw master:3 - ext4 shared:1 rw\n":             false,
		private + "28 27 0:5 / /proc rw shared:2 - proc proc rw\n":    false,
		shared + "28 27 0:5 / /proc rw - proc proc rw\n":              true,
		strings.Repeat(shared, 2) + "29 27 0:9 / / rw - tmpfs x rw\n": false,
		"short\n": false,
	} {
		if got := rootIsShared([]byte(table)); got != want {
			t.Errorf("%q: %v", table, got)
		}
	}
}

// Mounts notices each change of the mounts once.
func TestMountsNoticesChanges(t *testing.T) {
	apart(t, func() error {
		m, err := watch("/proc/thread-self/mountinfo")
		if err != nil {
			return err
		}
		defer m.Close()
		if m.Changed() {
			t.Error("a change before any mount")
		}
		for _, change := range []func() error{
			func() error { return unix.Mount("none", Place, "tmpfs", 0, "") },
			func() error { return unix.Unmount(Place, 0) },
		} {
			if err := change(); err != nil {
				return err
			}
			if !m.Changed() {
				t.Error("a change is not noticed")
			}
			if m.Changed() {
				t.Error("a change is noticed twice")
			}
		}
		return nil
	})
	var none *Mounts
	if none.Changed() {
		t.Error("nobody looks, and there is a change")
	}
	none.Close()
}
