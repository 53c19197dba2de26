package fabric

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// envDir is the environment variable with the directory of the libraries. It has precedence over
// all other places.
const envDir = "SCORE_FABRIC_DIR"

// library is the file that programs load.
const library = "libfabric.so.1"

// triplets maps Go's names of architectures to Debian's.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// ErrNoLibrary means that the libraries are not installed.
var ErrNoLibrary = errors.New("the libraries of the channels are not installed")

// Place holds the directories from which Find searches.
type Place struct {
	Dir      string // the value of $SCORE_FABRIC_DIR
	Programs string // directory of scrun and scored
}

// Here returns the Place of this process.
func Here() Place {
	p := Place{Dir: os.Getenv(envDir)}
	if self, err := os.Executable(); err == nil {
		p.Programs = filepath.Dir(self)
	}
	return p
}

// Find returns the directory of the libraries. It searches, in this order: $SCORE_FABRIC_DIR; the
// directory beside the installed programs; the system's; the one that 'make lib' fills in a
// checkout. The nodes must have it under the same name.
func Find(p Place) (string, error) {
	if p.Dir != "" {
		if !has(p.Dir) {
			return "", fmt.Errorf("%w: %s is %s, which has no %s", ErrNoLibrary, envDir, p.Dir, library)
		}
		return filepath.Abs(p.Dir)
	}
	dirs := []string{filepath.Join("/usr/lib", triplets[runtime.GOARCH], "score")}
	if p.Programs != "" {
		dirs = []string{filepath.Join(p.Programs, "../lib/score"), dirs[0], filepath.Join(p.Programs, "../build/lib")}
	}
	for _, dir := range dirs {
		if has(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: install the package libscore1, in a checkout 'make lib', or name their directory in %s", ErrNoLibrary, envDir)
}

func has(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, library))
	return err == nil && info.Mode().IsRegular()
}
