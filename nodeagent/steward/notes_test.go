package steward_test

import (
	"score/scored/api/scorev1"
	"testing"
)

// A program that causes sentences to its user without end, here by a rank that fails and is started
// again, causes as many as the leader keeps.
func TestSentencesAreBounded(t *testing.T) {
	const most, respawns = 16, 40
	a := start(t)
	a.run(1, sh("exit 1"), withSpec(func(s *scorev1.JobSpec) { s.Respawn = respawns }))
	a.done()
	notes := 0
	for _, m := range a.all() {
		if m.GetNote() != nil {
			notes++
		}
	}
	if notes != most {
		t.Errorf("%d sentences of %d, not %d", notes, respawns, most)
	}
}
