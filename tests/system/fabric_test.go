package system

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// fabricLibraries builds the libraries for C programs, once for all scripts.
var fabricLibraries = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(binaries, "lib")
	build := exec.Command("../../pm/lib/build", dir)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the libraries: %w\n%s", err, out)
	}
	return dir, os.Chmod(dir, 0o755)
})

// buildLibraries has the script's scrun find the libraries of --fabric pm, of this tree:
// `libraries`. SCORE_LIB is the folder with their headers.
func buildLibraries(ts *testscript.TestScript, neg bool, args []string) {
	dir, err := fabricLibraries()
	ts.Check(err)
	ts.Setenv("SCORE_FABRIC_DIR", dir)
	sources, err := filepath.Abs("../../pm/lib")
	ts.Check(err)
	ts.Setenv("SCORE_LIB", sources)
}
