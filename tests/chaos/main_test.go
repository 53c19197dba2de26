package chaos

import (
	"flag"
	"os"
	"score/tests/daemons/daemonstest"
	"testing"
	"time"
)

var (
	length = flag.Duration("chaos.for", time.Minute, "how long faults happen")
	seed   = flag.Uint64("chaos.seed", 0, "seed of submissions and faults; 0: a new one, which is logged")
)

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }
