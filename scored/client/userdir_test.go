package client

import (
	"os"
	"path/filepath"
	"strings"
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
