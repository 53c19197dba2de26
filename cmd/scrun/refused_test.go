package main

import (
	"score/scored/client/clienttest"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
)

// A server that knows of a leader that does not lead yet refuses the attachment more than once:
// scrun stays, and sees the end.
func TestAttachmentIsRefusedForAWhile(t *testing.T) {
	var asked atomic.Int64
	socket := clienttest.Serve(t, clienttest.Daemon{Submit: accept, Attach: func(job *clienttest.Attachment) {
		if asked.Add(1) <= 2*maxFruitless {
			job.Fail(connect.CodeUnavailable, "the server that leads was lost while it had the request")
			return
		}
		job.End(3, "")
	}})
	if code, _, errs := outcomeOf(t, scrun(t, socket, "-n", "1", "prog")); code != 3 {
		t.Errorf("exit code %d after %d attachments: %q", code, asked.Load(), errs)
	}
}
