package leader

import (
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"strings"
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

func lookup(id, request uint64, service string) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Name{Name: &scorev1.NameRequest{
		JobId: id, Request: request, Op: scorev1.NameOp_NAME_OP_LOOKUP, Service: service, Wait: true,
	}}}
}

func publish(id, request uint64, service string) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Name{Name: &scorev1.NameRequest{
		JobId: id, Request: request, Op: scorev1.NameOp_NAME_OP_PUBLISH, Service: service, Port: "tag",
	}}}
}

// TestLookupsOfOneJobAreBounded: a job that waits for as many names as it may is refused more, and
// other jobs are not. What it waited for is forgotten with it.
func TestLookupsOfOneJobAreBounded(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 4))
	flooder, other := w.submitAs(7, jobSpec(1)), w.submitAs(8, jobSpec(1))
	w.start(flooder)
	w.start(other)
	for request := range uint64(maxLookups) {
		w.b.onMessage("n1", w.links["n1"], lookup(flooder, request+1, fmt.Sprint("name", request)))
	}
	w.seen.Reset()
	w.receive("n1", lookup(flooder, maxLookups+1, "one more"))
	w.receive("n1", lookup(flooder, 1, "name0")) // asked again: it waits already
	w.receive("n1", lookup(other, 1, "ocean"))
	w.receive("n1", publish(other, 2, "ocean"))
	want := fmt.Sprintf("n1: Name request %d ok false port \"\"\nlog: PublishName %d ocean\n", maxLookups+1, other) +
		"n1: Name request 2 ok true port \"\"\nn1: Name request 1 ok true port \"tag\"\n"
	if got := w.seen.String(); got != want {
		t.Errorf("sent:\n%swant:\n%s", got, want)
	}
	w.kill(flooder)
	w.receive("n1", nodeDone(flooder))
	if left := len(w.b.lookups); left != 0 {
		t.Errorf("%d names are still waited for", left)
	}
}

// TestQuestionsAboutOneJobAreBounded: a user who asks where a queued job is as often as possible
// is answered at once from then on, and other users still wait for their answer.
func TestQuestionsAboutOneJobAreBounded(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	ask := func(id, request, of uint64) *scorev1.AgentMessage {
		return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Places{Places: &scorev1.PlacesRequest{JobId: id, Request: request, OfJob: of}}}
	}
	flooder, other := w.submitAs(7, jobSpec(1)), w.submitAs(8, jobSpec(1))
	w.start(flooder)
	w.start(other)
	large := jobSpec(2)
	large.Exclusive = true
	waiting, awaited := w.submitAs(7, large), w.submitAs(8, large)
	for request := range uint64(maxPlaceAsks) {
		w.b.onMessage("n1", w.links["n1"], ask(flooder, request+1, waiting))
	}
	w.seen.Reset()
	w.receive("n1", ask(flooder, maxPlaceAsks+1, waiting))
	w.receive("n1", ask(other, 1, awaited))
	want := fmt.Sprintf("n1: Places request %d of job %d: 0 nodes\n", maxPlaceAsks+1, waiting)
	if got := w.seen.String(); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	w.kill(flooder) // nobody needs its answers any more
	w.receive("n1", nodeDone(flooder))
	w.kill(waiting)
	w.kill(awaited)
	want = fmt.Sprintf("n1: Places request 1 of job %d: 0 nodes\n", awaited)
	if got := w.seen.String(); strings.Count(got, "Places") != 2 || !strings.Contains(got, want) {
		t.Errorf("sent %q, without %q", got, want)
	}
}
