package histories

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"score/tests/daemons"
)

// times is how often every fault happens.
var times = flag.Int("histories.times", 1, "let every fault happen so many times, each time at a later passing of its point")

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
	dir, err := os.MkdirTemp("", "score-histories-")
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
	dir, err := os.MkdirTemp("", "sh") // sockets have short names only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o.Bin, o.Dir = bin, dir
	o.Errors = io.Discard // what daemons say of faults that are wanted
	if testing.Verbose() {
		o.Errors = os.Stderr
	}
	c, err := daemons.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if err := c.AwaitGone(context.WithoutCancel(t.Context())); err != nil {
			t.Error("after the end of the cluster: ", err)
		}
	})
	return c
}
