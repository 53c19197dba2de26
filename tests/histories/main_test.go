package histories

import (
	"flag"
	"os"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"testing"
)

// times is how often every fault happens.
var times = flag.Int("histories.times", 1, "let every fault happen so many times, each time at a later passing of its point")

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }

func newCluster(t *testing.T, o daemons.Options) *daemonstest.Scene {
	t.Helper()
	o.Bin = bin
	return daemonstest.NewScene(t, o)
}
