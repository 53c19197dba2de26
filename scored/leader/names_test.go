package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/failpoint"
	"score/scored/leader/names"
	"score/scored/state"
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
		ask := func(request uint64, op agentpb.NameOp) *agentpb.AgentMessage {
			return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: &agentpb.NameRequest{
				JobId: id, Request: request, Op: op, Service: "ocean", Port: "tag", Once: true,
			}}}
		}
		deliver(t, l, "n1", link, ask(1, agentpb.NameOp_NAME_OP_PUBLISH))
		link.until(t, `Name request 1 ok true port ""`)

		t.Setenv(failpoint.Variable, failpoint.CommitEnd.String()+"=error")
		disarm, err := failpoint.FromEnvironment("server", func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, l, "n1", link, ask(2, agentpb.NameOp_NAME_OP_LOOKUP))
		<-link.closed
		disarm()

		link = newChanLink()
		if refusal, err := l.Connect(t.Context(), hello("n1", 2, id), nil, link); err != nil || refusal != "" {
			t.Fatalf("Connect: %q, %v", refusal, err)
		}
		deliver(t, l, "n1", link, ask(2, agentpb.NameOp_NAME_OP_LOOKUP))
		link.until(t, `Name request 2 ok true port "tag"`)
		deliver(t, l, "n1", link, ask(1, agentpb.NameOp_NAME_OP_PUBLISH))
		link.until(t, `Name request 1 ok true port ""`)
		deliver(t, l, "n1", link, ask(3, agentpb.NameOp_NAME_OP_LOOKUP))
		link.until(t, `Name request 3 ok false port ""`)
	})
}

func lookup(id, request uint64, service string) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: &agentpb.NameRequest{
		JobId: id, Request: request, Op: agentpb.NameOp_NAME_OP_LOOKUP, Service: service, Wait: true,
	}}}
}

func publish(id, request uint64, service string) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: &agentpb.NameRequest{
		JobId: id, Request: request, Op: agentpb.NameOp_NAME_OP_PUBLISH, Service: service, Port: "tag",
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
	for request := range uint64(names.MaxLookups) {
		w.b.onMessage("n1", w.links["n1"], lookup(flooder, request+1, fmt.Sprint("name", request)))
	}
	w.seen.Reset()
	w.receive("n1", lookup(flooder, names.MaxLookups+1, "one more"))
	w.receive("n1", lookup(flooder, 1, "name0")) // asked again: it waits already
	w.receive("n1", lookup(other, 1, "ocean"))
	w.receive("n1", publish(other, 2, "ocean"))
	want := fmt.Sprintf("n1: Name request %d: %d lookups of your jobs, %[2]d of this one, wait for names; no more can\nlog: PublishName %d ocean\n",
		names.MaxLookups+1, names.MaxLookups, other) +
		"n1: Name request 2 ok true port \"\"\nn1: Name request 1 ok true port \"tag\"\n"
	if got := w.seen.String(); got != want {
		t.Errorf("sent:\n%swant:\n%s", got, want)
	}
	w.kill(flooder)
	w.receive("n1", nodeDone(flooder))
	for _, uid := range []uint32{7, 8} {
		if left := w.b.names.Use(uid).Lookups; left != 0 {
			t.Errorf("%d lookups of user %d are still counted", left, uid)
		}
	}
}

// TestQuestionsAboutOneJobAreBounded: a user who asks where a queued job is as often as possible
// is answered at once from then on, and other users still wait for their answer.
func TestQuestionsAboutOneJobAreBounded(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	ask := func(id, request, of uint64) *agentpb.AgentMessage {
		return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Places{Places: &agentpb.PlacesRequest{JobId: id, Request: request, OfJob: of}}}
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

// TestNamesOfOneUserAreBounded: what all jobs of a user have published and wait for is bounded;
// other users are not refused, and room comes back with the ends of jobs, also after a restart.
func TestNamesOfOneUserAreBounded(t *testing.T) {
	w := newWorld(t)
	w.quiet = true
	w.connect(hello("n1", 16))
	ids := make([]uint64, names.MaxBytesOfOne/(state.MaxNamesPerJob*names.MaxPort)+1)
	for i := range ids {
		ids[i] = w.submitAs(7, jobSpec(1))
		w.start(ids[i])
	}
	other := w.submitAs(8, jobSpec(1))
	w.start(other)
	request := uint64(0)
	refusals := make(map[string]bool)
	publishOnce := func(id uint64, service string) (ok bool) {
		request++
		w.seen.Reset()
		w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: &agentpb.NameRequest{
			JobId: id, Request: request, Op: agentpb.NameOp_NAME_OP_PUBLISH, Service: service, Port: strings.Repeat("p", names.MaxPort), Once: true,
		}}})
		if refusal, found := strings.CutPrefix(w.seen.String(), fmt.Sprintf("n1: Name request %d: ", request)); found {
			refusals[refusal] = true
		}
		return strings.Contains(w.seen.String(), "ok true")
	}
	fill := func() (published int) {
		for _, id := range ids {
			for i := range state.MaxNamesPerJob {
				if publishOnce(id, fmt.Sprint(id, "-", i)) {
					published++
				}
			}
		}
		return published
	}
	w.quiet = false
	const each = names.MaxPort + len("1-100")
	if n := fill(); n > names.MaxBytesOfOne/names.MaxPort || n < names.MaxBytesOfOne/each-1 {
		t.Errorf("%d names of %d bytes are published", n, names.MaxPort)
	}
	if want := "what your jobs have published is all of the 16 MiB that it may be; unpublish some names\n"; len(refusals) != 1 || !refusals[want] {
		t.Errorf("the refusals are %v", refusals)
	}
	if !publishOnce(other, "ocean") {
		t.Error("another user is refused")
	}
	w.restart()
	w.connect(hello("n1", 16, append(ids, other)...))
	if publishOnce(ids[len(ids)-1], "one more") {
		t.Error("a restart made room")
	}
	w.kill(ids[0])
	w.receive("n1", nodeDone(ids[0]))
	if !publishOnce(ids[len(ids)-1], "one more") {
		t.Error("the end of a job made no room")
	}
	for _, id := range append(ids[1:], other) {
		w.kill(id)
		w.receive("n1", nodeDone(id))
	}
	if left := w.b.names.Use(7).Bytes; left != 0 {
		t.Errorf("%d bytes are still counted", left)
	}
}

// TestRefusedNames: an agent learns why a name is refused; no reason means that it is taken.
func TestRefusedNames(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 4))
	id := w.submitAs(7, jobSpec(1))
	w.start(id)
	w.receive("n1", publish(id, 1, "ocean"))
	for _, test := range []struct{ service, port, want string }{
		{"ocean", "other", `Name request 2 ok false port ""`},
		{"", "", "Name request 2: a name has 1 to 640 bytes, not 0"},
		{strings.Repeat("s", names.MaxService+1), "", "Name request 2: a name has 1 to 640 bytes, not 641"},
		{"sea", strings.Repeat("p", names.MaxPort+1), "Name request 2: 16385 bytes are published under one name, the most is 16384"},
	} {
		w.seen.Reset()
		m := publish(id, 2, test.service)
		m.GetName().Port = test.port
		w.receive("n1", m)
		if got := w.seen.String(); got != "n1: "+test.want+"\n" {
			t.Errorf("sent %q, want %q", got, test.want)
		}
	}
	for i := range uint64(state.MaxNamesPerJob) {
		w.seen.Reset()
		w.receive("n1", publish(id, 3+i, fmt.Sprint("sea", i)))
	}
	want := fmt.Sprintf("n1: Name request %d: the job has published 256 names, the most that it may; unpublish some\n", 2+state.MaxNamesPerJob)
	if got := w.seen.String(); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// TestLookupsOfOneUserAreBounded: one name that all jobs of a user wait for cannot give an agent
// more answers than may wait for it.
func TestLookupsOfOneUserAreBounded(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 4))
	ids := []uint64{w.submitAs(7, jobSpec(1)), w.submitAs(7, jobSpec(1)), w.submitAs(7, jobSpec(1))}
	other := w.submitAs(8, jobSpec(1))
	for _, id := range append(ids, other) {
		w.start(id)
	}
	for _, id := range ids[:names.MaxLookupsOfOne/names.MaxLookups] {
		for request := range uint64(names.MaxLookups) {
			w.b.onMessage("n1", w.links["n1"], lookup(id, request+1, "ocean"))
		}
	}
	w.seen.Reset()
	w.receive("n1", lookup(ids[2], 1, "ocean"))
	w.receive("n1", lookup(other, 1, "ocean"))
	want := fmt.Sprintf("n1: Name request 1: %d lookups of your jobs, 0 of this one, wait for names; no more can\n", names.MaxLookupsOfOne)
	if got := w.seen.String(); got != want {
		t.Errorf("sent %q", got)
	}
	w.b.onMessage("n1", w.links["n1"], publish(ids[2], 2, "ocean"))
	if left := w.b.names.Use(7).Lookups; left != 0 {
		t.Errorf("%d lookups are still counted", left)
	}
	w.receive("n1", lookup(ids[2], 3, "sea"))
	w.kill(ids[2])
	w.receive("n1", nodeDone(ids[2]))
	if left := w.b.names.Use(7).Lookups; left != 0 {
		t.Errorf("%d lookups of an ended job are still counted", left)
	}
}

// TestReadOnceIsCommittedBeforeItsAnswer: a lookup that waited for a name that is read once has its
// answer when the log has that the name is gone. The next leader would give the name once more.
func TestReadOnceIsCommittedBeforeItsAnswer(t *testing.T) {
	w := newWorld(t)
	w.maxCommands = 1
	w.connect(hello("n1", 2))
	id := w.submitAs(7, jobSpec(1))
	w.start(id)
	w.receive("n1", lookup(id, 1, "ocean"))
	m := publish(id, 2, "ocean")
	m.GetName().Once = true
	w.seen.Reset()
	w.receive("n1", m)
	want := fmt.Sprintf("log: PublishName %d ocean\nlog: UnpublishName %[1]d ocean\n", id) +
		"n1: Name request 2 ok true port \"\"\nn1: Name request 1 ok true port \"tag\"\n"
	if got := w.seen.String(); got != want {
		t.Errorf("seen:\n%swant:\n%s", got, want)
	}
}
