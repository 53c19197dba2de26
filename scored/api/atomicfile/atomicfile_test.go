package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// writers are the ways to write a file.
var writers = map[string]func(path string, data []byte, mode fs.FileMode) error{
	"create":  Create,
	"replace": Replace,
	"replace by a draft": func(path string, data []byte, mode fs.FileMode) error {
		return ReplaceBy(path+".new", path, data, mode)
	},
}

func TestWrite(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := write(path, []byte("text\n"), 0o640); err != nil {
				t.Fatal(err)
			}
			check(t, path, "text\n", 0o640)
		})
	}
}

func TestExisting(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := write(path, []byte("new"), 0o644)
			if name == "create" {
				if !errors.Is(err, fs.ErrExist) {
					t.Errorf("an existing file: %v", err)
				}
				check(t, path, "old", 0o600)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, path, "new", 0o644)
		})
	}
}

// A write that fails changes nothing.
func TestFailedWrite(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			const limit = 4096
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}); err != nil {
				t.Fatal(err)
			}
			err := write(path, bytes.Repeat([]byte("x"), 2*limit), 0o600)
			if restored := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); restored != nil {
				t.Fatal(restored)
			}
			if !errors.Is(err, syscall.EFBIG) {
				t.Errorf("a write beyond the limit: %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
				t.Errorf("%.10q, %v; the old file must stay", got, err)
			}
		})
	}
}

// A draft that a crash has left does not show through.
func TestOldDraft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path+".new", []byte("a longer text"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceBy(path+".new", path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, path, "text", 0o600)
}

func TestNoDirectory(t *testing.T) {
	for name, write := range writers {
		if err := write(filepath.Join(t.TempDir(), "none", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// check compares the file, which must be alone in its directory.
func check(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%q, %v; want %q", got, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("mode %v, %v; want %v", info.Mode(), err, mode)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("in the directory: %v, %v", all, err)
	}
}
