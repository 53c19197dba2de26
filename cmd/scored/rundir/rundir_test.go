package rundir_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"score/cmd/scored/rundir"
	"score/tests/child"
	"strings"
	"testing"
)

const parentVariable = "SCORE_TEST_RUNDIR_PARENT"

func TestMain(m *testing.M) {
	parent := os.Getenv(parentVariable)
	if parent == "" {
		os.Exit(m.Run())
	}
	dir, err := rundir.Make(parent, "dev", nil)
	fmt.Println(dir.Path(), err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
	runtime.KeepAlive(dir)
}

func TestMakeAndClose(t *testing.T) {
	parent := t.TempDir()
	dir, err := rundir.Make(parent, "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir.Path()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
	if dir.Path() != filepath.Join(parent, dir.Name()) || !strings.HasPrefix(dir.Name(), "dev-") {
		t.Errorf("its name is %s, its path %s", dir.Name(), dir.Path())
	}
	if err := os.WriteFile(filepath.Join(dir.Path(), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// A killed process's directory goes with the next one's start, and a living
// one's stays.
func TestSweep(t *testing.T) {
	parent := t.TempDir()
	living, stopLiving := other(t, parent)
	dead, stopDead := other(t, parent)
	stopDead()
	for _, name := range []string{"dev-x", "embedded-1", "dev-"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var cleaned []string
	dir, err := rundir.Make(parent, "dev", func(name string) { cleaned = append(cleaned, name) })
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if len(cleaned) != 1 || cleaned[0] != filepath.Base(dead) {
		t.Errorf("cleaned %v, want %s alone", cleaned, filepath.Base(dead))
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead process's directory: %v", err)
	}
	for _, path := range []string{living, filepath.Join(parent, "dev-x"), filepath.Join(parent, "embedded-1")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("another's directory: %v", err)
		}
	}
	stopLiving()
}

// other runs a process that has a directory, until stop kills it.
func other(t *testing.T, parent string) (path string, stop func()) {
	t.Helper()
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), parentVariable+"="+parent)
	c := child.Start(t, command)
	var failure string
	if _, err := fmt.Fscan(c.Out, &path, &failure); err != nil || failure != "<nil>" {
		t.Fatal(path, failure, err)
	}
	return path, c.End
}
