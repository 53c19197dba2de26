package failures

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"score/tests/daemons"
)

// times is how often the whole matrix is gone through; 0: a part of it, once.
var times = flag.Int("failures.times", 0, "go through the whole matrix so many times; 0: a part of it, once")

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withPrograms(m.Run))
}

// withPrograms builds what is tested from this tree.
func withPrograms(run func() int) int {
	if testing.Short() {
		return run() // every test skips
	}
	dir, err := os.MkdirTemp("", "score-failures-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := daemons.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	return run()
}

// startCluster starts a cluster that is stopped, and looked after, when the test ends.
func startCluster(t *testing.T, o daemons.Options) *daemons.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("clusters of real daemons; run without -short")
	}
	if os.Getuid() != 0 {
		t.Skip("several nodes on a machine need control groups, which need root")
	}
	dir, err := os.MkdirTemp("", "sf") // sockets have short names only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o.Bin, o.Dir = bin, dir
	log := &lines{t: t}
	o.Errors = log
	c, err := daemons.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		log.close()
		if err := c.AwaitGone(t.Context()); err != nil {
			t.Error("after the end of the cluster: ", err)
		}
	})
	return c
}
