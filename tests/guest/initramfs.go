package guest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/guest/wire"
	"sync"
)

// insideProgram builds the first program of a guest, once.
var insideProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "score-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "inside")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "score/tests/guest/inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest's first program: %w: %s", err, out)
	}
	return os.ReadFile(path)
})

// initramfs returns the guest's first file system.
func initramfs(settings wire.Settings) ([]byte, error) {
	program, err := insideProgram()
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	var a archive
	a.add("dev", 0o040755, nil)
	a.add("init", 0o100755, program)
	a.add(filepath.Base(wire.SettingsPath), 0o100644, told)
	a.add("TRAILER!!!", 0, nil)
	return a.Bytes(), nil
}

// archive is a cpio archive of the kind "newc".
type archive struct {
	bytes.Buffer
	files int
}

// add adds a file or directory. Names and contents are padded to multiples of four bytes.
func (a *archive) add(name string, mode uint32, data []byte) {
	a.files++
	fmt.Fprintf(a, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		a.files, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
	a.pad()
	a.Write(data)
	a.pad()
}

func (a *archive) pad() { a.Write(make([]byte, -a.Len()&3)) }
