package main

import (
	"errors"
	"io"
	"score/scored/client/clienttest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
)

// An attached scrun goes on while no server can decide, as long as its user wants.
func TestWaitsForAMajority(t *testing.T) {
	const without = 2 * maxFruitless
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

// A connection that is lost, in whatever words the transport says so, may come back; what a daemon
// refuses does not.
func TestMayComeBack(t *testing.T) {
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF,
		connect.NewError(connect.CodeInternal, errors.New("protocol error: incomplete envelope: http2: client conn is closed")),
		connect.NewWireError(connect.CodeUnavailable, errors.New("no majority")),
	} {
		if !mayComeBack(err) {
			t.Errorf("%v is for good", err)
		}
	}
	if mayComeBack(connect.NewWireError(connect.CodeNotFound, errors.New("no such job"))) {
		t.Error("a refusal is not for good")
	}
}
