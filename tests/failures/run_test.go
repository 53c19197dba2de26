package failures

import (
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"testing"
)

// start starts a program for a cluster's users.
func start(t *testing.T, c *daemons.Cluster, name string, arguments ...string) *daemonstest.Program {
	t.Helper()
	return daemonstest.Begin(t, c, c.Socket(), name, arguments...)
}

// scored runs a command to its end and gives what it said.
func scored(t *testing.T, c *daemons.Cluster, arguments ...string) string {
	t.Helper()
	p := start(t, c, "scored", arguments...)
	if code := p.Code(); code != 0 {
		t.Fatalf("%s: exit code %d\n%s", p, code, p.Said())
	}
	return p.Said()
}

// on reports whether a job has a place on the node.
func on(j *scorev1.Job, node string) bool {
	for _, p := range j.GetPlaces() {
		if p.GetNode() == node {
			return true
		}
	}
	return false
}
