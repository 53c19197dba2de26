package daemonstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"score/tests/daemons"
	"score/tests/hostclock"
	"score/tests/socketdir"
	"testing"
)

// Run builds scored, scrun and what daemons.Build builds besides into a directory, whose name bin
// is set to, and runs the tests; TestMain exits with the code that it gives.
func Run(m *testing.M, bin *string) (code int) {
	dir, err := os.MkdirTemp("", "score-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = daemons.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*bin = dir
	return m.Run()
}

// Start starts a cluster in a new directory, which other users may enter, and stops it when the
// test ends. Whatever it leaves behind then is an error. What its daemons say is in the test's log,
// which is shown with -v and when the test fails; o.Errors gets it too.
func Start(t *testing.T, o daemons.Options) *daemons.Cluster {
	t.Helper()
	NeedRoot(t)
	o.Dir = socketdir.MakeOpen(t)
	log := t.Output()
	if o.Errors != nil {
		log = io.MultiWriter(o.Errors, log)
	}
	o.Errors = log
	c, err := daemons.Start(t.Context(), o)
	if errors.Is(err, hostclock.ErrUnsupported) {
		t.Skip(err)
	}
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

// NeedRoot skips a test of clusters where none can be.
func NeedRoot(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("clusters of real daemons; run without -short")
	}
	if os.Getuid() != 0 {
		t.Skip("several nodes on a machine need control groups, and other users' jobs, both of which need root")
	}
}
