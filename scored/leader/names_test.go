package leader

import (
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"testing"
)

// TestReadOnceWhileLeaderDies: the leader loses its answer when the reading of a name is committed.
// A repeated request with the same number gets the name from the next controller.
func TestReadOnceWhileLeaderDies(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, _ *fakeReplica) {
		link := join(t, l, "n1")
		id := mustSubmit(t, l, jobSpec(1))
		deliver(t, l, "n1", link, prepared(id), launched(id, 1))
		ask := func(request uint64, op scorev1.NameOp) *scorev1.AgentMessage {
			return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Name{Name: &scorev1.NameRequest{
				JobId: id, Request: request, Op: op, Service: "ocean", Port: "tag", Once: true,
			}}}
		}
		deliver(t, l, "n1", link, ask(1, scorev1.NameOp_NAME_OP_PUBLISH))
		link.until(t, `Name request 1 ok true port ""`)

		t.Setenv(failpoint.Variable, failpoint.CommitEnd.String()+"=error")
		disarm, err := failpoint.FromEnvironment("server", func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, l, "n1", link, ask(2, scorev1.NameOp_NAME_OP_LOOKUP))
		<-link.closed
		disarm()

		link = newChanLink()
		if refusal, err := l.Connect(t.Context(), hello("n1", 2, id), nil, link); err != nil || refusal != "" {
			t.Fatalf("Connect: %q, %v", refusal, err)
		}
		deliver(t, l, "n1", link, ask(2, scorev1.NameOp_NAME_OP_LOOKUP))
		link.until(t, `Name request 2 ok true port "tag"`)
		deliver(t, l, "n1", link, ask(1, scorev1.NameOp_NAME_OP_PUBLISH))
		link.until(t, `Name request 1 ok true port ""`)
		deliver(t, l, "n1", link, ask(3, scorev1.NameOp_NAME_OP_LOOKUP))
		link.until(t, `Name request 3 ok false port ""`)
	})
}
