// Package smalldisk mounts small file systems, for tests of full disks.
package smalldisk

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount mounts an empty file system over a directory until the test ends. The options are
// tmpfs(5)'s, as "size=4m,mode=700". Where nobody can mount one, the test is skipped.
func Mount(t *testing.T, dir, options string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	if err := unix.Mount("score-test", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Skip("a small file system cannot be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
}
