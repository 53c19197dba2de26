package socketdir

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A socket with a long name has a place there, whatever the test's name, and nothing is left.
func TestMake(t *testing.T) {
	for mode, makeDir := range map[fs.FileMode]func(testing.TB) string{0o700: Make, 0o755: MakeOpen} {
		var dir string
		t.Run(strings.Repeat("a long name ", 20), func(t *testing.T) {
			dir = makeDir(t)
			listener, err := net.Listen("unix", filepath.Join(dir, strings.Repeat("s", 60)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { listener.Close() })
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%v, %v", info, err)
			}
		})
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the directory is left: %v", err)
		}
	}
}
