package failures

import (
	"flag"
	"os"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"testing"
)

// times is how often the whole matrix is gone through; 0: a part of it, once.
var times = flag.Int("failures.times", 0, "go through the whole matrix so many times; 0: a part of it, once")

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }

func startCluster(t *testing.T, o daemons.Options) *daemons.Cluster {
	t.Helper()
	o.Bin = bin
	return daemonstest.Start(t, o)
}
