package launch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestProcFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := readProc(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading none: %v", err)
	}
	if err := writeProc(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing to none: %v", err)
	}
	for _, size := range []int{0, 1, procBytes - 1, procBytes, 3*procBytes + 1} {
		want := bytes.Repeat([]byte{'a'}, size)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeProc(path, want); err != nil {
			t.Errorf("writing %d bytes: %v", size, err)
		}
		if got, err := readProc(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes of %d, %v", len(got), size, err)
		}
	}
	if _, err := readProc(t.TempDir()); err == nil {
		t.Error("a directory can be read")
	}
}
