package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// file is a file in memory whose writes and closing can fail.
type file struct {
	bytes.Buffer
	full, bad error
	closed    bool
}

func (f *file) Write(p []byte) (int, error) {
	if f.full != nil {
		return 0, f.full
	}
	return f.Buffer.Write(p)
}

func (f *file) Close() error {
	f.closed = true
	return f.bad
}

func TestFilesAreOpenedOnce(t *testing.T) {
	disk := make(map[string]*file)
	files := NewFiles(func(path string) (io.WriteCloser, error) {
		if disk[path] != nil {
			t.Errorf("%s is opened twice", path)
		}
		disk[path] = &file{}
		return disk[path], nil
	})
	for _, path := range []string{"a", "b", "a"} {
		s, err := files.Sink(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write([]byte(path + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if disk["a"].String() != "a\na\n" || disk["b"].String() != "b\n" || !disk["a"].closed || !disk["b"].closed {
		t.Errorf("%v", disk)
	}
}

func TestWritesAreNotMixed(t *testing.T) {
	disk := &file{}
	files := NewFiles(func(string) (io.WriteCloser, error) { return disk, nil })
	s, err := files.Sink("x")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				if err := s.Write(fmt.Appendf(nil, "%d%d%d\n", i, i, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSpace(disk.String()), "\n")
	for _, l := range lines {
		if len(l) != 3 || l[0] != l[1] || l[1] != l[2] {
			t.Fatalf("mixed line %q", l)
		}
	}
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestFileErrors(t *testing.T) {
	full := errors.New("no space left")
	disk := &file{full: full}
	files := NewFiles(func(path string) (io.WriteCloser, error) {
		if path == "no" {
			return nil, errors.New("permission denied")
		}
		return disk, nil
	})
	if _, err := files.Sink("no"); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
	s, err := files.Sink("yes")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write([]byte("a")); !errors.Is(err, full) || !strings.Contains(err.Error(), "output file yes") {
		t.Error(err)
	}
	disk.full = nil
	if err := s.Write([]byte("b")); !errors.Is(err, full) || disk.Len() != 0 {
		t.Errorf("after a failure: %v, %d bytes", err, disk.Len())
	}
	if err := files.Close(); !errors.Is(err, full) || !disk.closed {
		t.Errorf("closing: %v", err)
	}
}

func TestCloseTellsOfLostData(t *testing.T) {
	bad := errors.New("input/output error")
	files := NewFiles(func(string) (io.WriteCloser, error) { return &file{bad: bad}, nil })
	s, err := files.Sink("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); !errors.Is(err, bad) {
		t.Error(err)
	}
	if err := s.Write([]byte("late")); err == nil {
		t.Error("a write after Close succeeds")
	}
	if err := files.Close(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestFilesAreBounded(t *testing.T) {
	files := NewFiles(func(string) (io.WriteCloser, error) { return &file{}, nil })
	for i := range MaxFiles {
		if _, err := files.Sink(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := files.Sink("one more"); !errors.Is(err, ErrTooManyFiles) {
		t.Error(err)
	}
	if _, err := files.Sink("0"); err != nil {
		t.Errorf("a file that is open: %v", err)
	}
}

func TestFewDescriptors(t *testing.T) {
	files := NewFiles(func(path string) (io.WriteCloser, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EMFILE}
	})
	want := "opening the output file: open out.7: too many open files; raise 'ulimit -n', or put several ranks into one file"
	if _, err := files.Sink("out.7"); !errors.Is(err, syscall.EMFILE) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
