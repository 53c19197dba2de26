package steward_test

import (
	"score/nodeagent/steward/stewardpb"
	"strings"
	"testing"
)

// The steward tells what could wake its ranks, also after they have ended.
func TestExamine(t *testing.T) {
	a := start(t, withCgroup)
	a.run(1, sh("exec sleep 1000"))
	a.launched()
	ask := func(n uint64) string {
		a.do(a.conn.Examine(&stewardpb.Examine{Request: n}))
		found := await(a, "an answer", int(n), (*stewardpb.FromSteward).GetExamined)
		if found.GetRequest() != n {
			t.Errorf("the answer to %d has the number %d", n, found.GetRequest())
		}
		return found.GetWakeSource()
	}
	if source := ask(0); !strings.HasPrefix(source, "process ") {
		t.Errorf("a rank sleeps: %q", source)
	}
	a.do(a.conn.Kill())
	a.done()
	if source := ask(1); source != "its processes cannot be listed" {
		t.Errorf("without ranks: %q", source)
	}
}
