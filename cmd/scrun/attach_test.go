package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"score/scored/client/clienttest"
)

// An attached scrun goes on while no server can decide, as long as its user wants.
func TestWaitsForAMajority(t *testing.T) {
	const without = 2 * fruitlessMost
	var attached atomic.Int32
	socket := clienttest.Serve(t, clienttest.Daemon{Submit: accept, Attach: func(a *clienttest.Attachment) {
		switch n := attached.Add(1); {
		case n == 1:
			_ = a.Print(0, 1, "before\n")
			a.FailUndecided()
		case n <= without:
			a.FailUndecided()
		default:
			_ = a.Print(0, 1, "after\n")
			_ = a.End(3, "")
		}
	}})
	code, out, errs := outcomeOf(t, scrun(t, socket, "true"))
	if code != 3 || out != "before\nafter\n" || errs != "" {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
}

func TestWaitsNoLongerThanWanted(t *testing.T) {
	socket := clienttest.Serve(t, clienttest.Daemon{Submit: accept, Attach: func(a *clienttest.Attachment) { a.FailUndecided() }})
	code, _, errs := outcomeOf(t, scrun(t, socket, "--patience", "0:01", "true"))
	if code != exitCluster || !strings.Contains(errs, "can decide nothing") {
		t.Errorf("code %d, %q", code, errs)
	}
}
