package packaging

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"score/tests/daemons"
)

// patience bounds every wait for what must come.
const patience = time.Minute

// binaries is the directory of scored and scrun, built from this tree.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withBinaries(m.Run))
}

func withBinaries(run func() int) int {
	dir, err := os.MkdirTemp("", "score-packaging-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = daemons.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binaries = dir
	return run()
}
