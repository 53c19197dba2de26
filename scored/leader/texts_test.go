package leader

import (
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
)

// oddSpec returns a job with texts that are not UTF-8.
func oddSpec() *scorev1.JobSpec {
	spec := jobSpec(1)
	spec.Name, spec.Argv, spec.Env, spec.WorkDir, spec.StdoutPattern = "a.out", []string{"./a\xff", "\xfe"}, []string{"A\xfd=\xfc"}, "/\x80", "o\xff.%t"
	return spec
}

// A job's texts are the same under the next leader, in orders to its nodes, and in its spawned
// jobs.
func TestTextsAreKeptByteByByte(t *testing.T) {
	want := oddSpec()
	w := spawner(t, protocol.Own().Newest, oddSpec(), nil)
	check := func(when string) {
		t.Helper()
		if got := w.b.prepareOrders(w.b.jobs[1])(0).GetSpec(); !proto.Equal(got, want) {
			t.Errorf("%s: %v", when, got)
		}
	}
	check("at first")
	w.restart()
	w.connect(hello("n1", 2, 1))
	check("under the next leader")
	w.start(1)
	child, err := w.spawns(1, &agentpb.SpawnApp{Program: "dir/c\xff", Args: []string{"\xfe"}, Env: []string{"B=\xfb"}, WorkDir: "/\xfa", Tasks: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.spawns(1, &agentpb.SpawnApp{Program: "c", Hosts: []string{"n\xff"}, Tasks: 1}); !errors.Is(err, ErrImpossible) {
		t.Errorf("on a node whose name is no text: %v", err)
	}
	w.restart()
	w.connect(hello("n1", 2, 1, child.id))
	spec := w.b.jobs[child.id].spec
	if spec.GetName() != `c\xff` || !slices.Equal(spec.GetArgv(), []string{"dir/c\xff", "\xfe"}) || spec.GetWorkDir() != "/\xfa" ||
		!slices.Equal(spec.GetEnv(), []string{"A\xfd=\xfc", "B=\xfb"}) {
		t.Errorf("what was spawned: %v", spec)
	}
}

// Servers of an earlier version could not read them. The world fails on a command that is not in
// the log's protocol.
func TestTextsNeedTheirProtocol(t *testing.T) {
	w := newWorldIn(t, protocol.First)
	w.connect(hello("n1", 2))
	for name, change := range map[string]func(*scorev1.JobSpec){
		"argument":  func(s *scorev1.JobSpec) { s.Argv = []string{"a", "\xff"} },
		"variable":  func(s *scorev1.JobSpec) { s.Env = []string{"A=\xff"} },
		"directory": func(s *scorev1.JobSpec) { s.WorkDir = "/\xff" },
		"file":      func(s *scorev1.JobSpec) { s.StdoutPattern = "\xff" },
	} {
		spec := jobSpec(1)
		change(spec)
		if _, err := w.submit(spec); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	id, err := w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	w.start(id)
	if _, err := w.spawns(id, &agentpb.SpawnApp{Program: "c\xff", Tasks: 1}); !errors.Is(err, ErrState) {
		t.Errorf("a spawn: %v", err)
	}
	request := uint64(0)
	published := func(service, port string) bool {
		request++
		m := publish(id, request, service)
		m.GetName().Port = port
		w.seen.Reset()
		w.receive("n1", m)
		return strings.Contains(w.seen.String(), "ok true")
	}
	if published("s\xff", "p") || published("s", "p\xff") || !published("s", "p") {
		t.Error("names")
	}
	w.b.raiseProtocol(protocol.Texts)
	w.settle()
	if _, err := w.submit(oddSpec()); err != nil || !published("s\xff", "p\xff") {
		t.Errorf("in the protocol that has them: %v", err)
	}
	w.restart()
	w.connect(hello("n1", 2, id))
	w.seen.Reset()
	w.receive("n1", lookup(id, request+1, "s\xff"))
	if got := w.seen.String(); !strings.Contains(got, `port "p\xff"`) {
		t.Errorf("under the next leader the answer is %q", got)
	}
}

// Such texts in agents' sentences are escaped: they are read in the log, in lists and on terminals.
func TestSentencesOfAgentsAreUTF8(t *testing.T) {
	w := newWorldIn(t, protocol.First)
	w.connect(hello("n1", 2))
	id, err := w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	w.receive("n1", unprepared(id, 127, "/a\xff does not exist"))
	if got := w.log.Job(id).Verdict.GetMessage(); got != `/a\xff does not exist` {
		t.Errorf("%q", got)
	}
	id, err = w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	w.receive("n1", unprepared(id, 127, strings.Repeat("x", 100_000)+"\nand more\n"))
	if got := w.log.Job(id).Verdict.GetMessage(); len(got) > 2100 || !strings.HasSuffix(got, "xx; and more") {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
	if got := clip(string(slices.Repeat([]byte{0xff}, maxText+1))); !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}

// A line end in a node's sentence, which may be a program's (PMIx_Log), would begin a line that
// looks like another sentence on the user's terminal.
func TestSentencesOfAgentsAreOneLine(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	id, err := w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	const hostile = "rank 0: x\nscrun: job 1 ended\r\x1b[2J\u2028\n"
	w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id, Warning: hostile}}})
	w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: &agentpb.JobNote{JobId: id, Text: hostile}}})
	want := []string{`rank 0: x; scrun: job 1 ended\r\x1b[2J\u2028`, `rank 0: x; scrun: job 1 ended\r\x1b[2J\u2028`}
	if got := w.b.jobs[id].notes; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestExplainHasWarnings: nobody is attached to a detached job, so its owner finds there what keeps
// it from starting. Others do not: the sentence may be the program's.
func TestExplainHasWarnings(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 2))
	id, err := w.submit(jobSpec(1))
	if err != nil {
		t.Fatal(err)
	}
	const text = "node n1 has been opening out for 5s"
	w.receive("n1", &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: &agentpb.JobNote{JobId: id, Text: text}}})
	for _, c := range []struct {
		caller Caller
		want   bool
	}{{owner, true}, {Caller{UID: 99, Role: scorev1.Role_ROLE_OPERATOR}, true}, {stranger, false}} {
		if lines := w.b.explainTo(c.caller, w.b.jobs[id]).GetLines(); slices.Contains(lines, text) != c.want {
			t.Errorf("%+v is told %q", c.caller, lines)
		}
	}
}
