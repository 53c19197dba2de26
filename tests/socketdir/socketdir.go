// Package socketdir makes directories for sockets of tests: the kernel allows their paths 107
// bytes, and those of testing.T.TempDir are longer.
package socketdir

import (
	"os"
	"testing"
)

// Make makes a directory with a short path, which is closed to other users. It ends with the test.
func Make(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// MakeOpen is Make for a directory that other users may enter.
func MakeOpen(t testing.TB) string {
	t.Helper()
	dir := Make(t)
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users must reach the sockets
		t.Fatal(err)
	}
	return dir
}
