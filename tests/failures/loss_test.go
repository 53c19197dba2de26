package failures

import (
	"fmt"
	"os"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// beat is a rank that leaves a file for each instant at which it was alive, and
// runs until it is started again.
const beat = `
echo "begins $SCORE_RESTART_COUNT"
if [ "$SCORE_RESTART_COUNT" -gt 0 ]; then
	date +%s%N >begun.$SCORE_RANK
	exit 0
fi
while :; do date +%s%N >>alive.$SCORE_RANK; sleep 0.02; done
`

// instants reads what ranks have written.
func instants(t *testing.T, c *daemons.Cluster, file string) (first, last time.Time) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for i, word := range strings.Fields(string(text)) {
		nanos, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			continue // the write was cut off
		}
		last = time.Unix(0, nanos)
		if i == 0 {
			first = last
		}
	}
	return first, last
}

// neverTwice fails unless both ranks of the first attempt were dead before any of the second was
// alive.
func neverTwice(t *testing.T, c *daemons.Cluster) {
	t.Helper()
	const ranks = 2
	for dead := range ranks {
		for born := range ranks {
			_, last := instants(t, c, fmt.Sprintf("alive.%d", dead))
			begun, _ := instants(t, c, fmt.Sprintf("begun.%d", born))
			if !last.Before(begun) {
				t.Errorf("rank %d of the first attempt lived at %v, and rank %d of the second began at %v", dead, last, born, begun)
			}
		}
	}
}

// gang starts a job of two ranks on n1 and n2, and waits until it runs there.
func gang(t *testing.T, c *daemons.Cluster, id uint64, script string, options ...string) *daemonstest.Program {
	t.Helper()
	line := append([]string{"-s", "-N", "2", "-n", "2"}, options...)
	p := start(t, c, "scrun", append(line, "sh", "-c", script)...)
	daemonstest.AwaitJob(t, c, id, "runs on n1 and n2", func(j *scorev1.Job) bool { return daemonstest.Running(j) && on(j, "n1") && on(j, "n2") })
	return p
}

const forever = "echo goes; while :; do sleep 0.05; done"

// An agent is killed and does not come back. Its ranks live on, as long as their
// lease lasts; then the job that may be started again is, and the other one has ended.
func TestLostAgentsJobsRestart(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 3, Slice: slice, Grace: time.Minute})
	again := gang(t, c, 1, beat, "--requeue", "-l")
	other := gang(t, c, 2, forever)
	elsewhere := start(t, c, "scrun", "-s", "-n", "1", "-w", "n3", "sh", "-c", forever)
	daemonstest.AwaitJob(t, c, 3, "runs", daemonstest.Running)

	c.Agent("n2").Kill()
	other.Ends(125, "job 2 was ended: node n2 was lost; submit it again")
	again.Ends(0, "0: begins 0\n", "1: begins 0\n", "job 1 restarts (restart 1): node n2 was lost\n", "0: begins 1\n", "1: begins 1\n")
	neverTwice(t, c)
	said := again.Said()
	if between := strings.Index(said, "restarts ("); strings.LastIndex(said, "begins 0") > between || strings.Index(said, "begins 1") < between {
		t.Errorf("the attempts' output is mixed:\n%s", said)
	}
	if show := scored(t, c, "job", "show", "1"); !strings.Contains(show, "restarts      1\n") {
		t.Errorf("scored job show:\n%s", show)
	}
	if list := scored(t, c, "node", "list"); !strings.Contains(list, "lost") {
		t.Errorf("scored node list:\n%s", list)
	}

	// It comes back, and is of use again; the gang elsewhere has not noticed.
	if err := c.Agent("n2").Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, c, "scrun", "-n", "1", "-w", "n2", "echo", "back").Ends(0, "back")
	if err := c.AwaitClean(t.Context(), map[uint64]bool{3: true}); err != nil {
		t.Error(err)
	}
	if elsewhere.Over() {
		t.Errorf("the job elsewhere has ended:\n%s", elsewhere.Said())
	}
	scored(t, c, "job", "cancel", "3")
	elsewhere.Ends(143)
}

// A node is gone with all its processes and is back at once, knowing nothing: the
// job need not wait for any lease. Output in files goes on after a mark.
func TestNodeThatIsBackAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 2, Slice: slice, Grace: time.Minute})
	submitted := start(t, c, "scrun", "--requeue", "-d", "-o", "out.%t", "-s", "-N", "2", "-n", "2", "sh", "-c", beat)
	submitted.Ends(0, "1")
	daemonstest.AwaitJob(t, c, 1, "runs", daemonstest.Running)
	if err := daemons.Await(t.Context(), "both ranks write", func() bool {
		for _, file := range []string{"alive.0", "alive.1"} {
			if _, err := os.Stat(filepath.Join(c.Dir, file)); err != nil {
				return false
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	c.KillNode("n2")
	began := time.Now()
	if err := c.Agent("n2").Start(); err != nil {
		t.Fatal(err)
	}
	daemonstest.AwaitJob(t, c, 1, "has ended", func(j *scorev1.Job) bool {
		return j.GetState() == scorev1.JobState_JOB_STATE_DONE && j.GetVerdict().GetExitCode() == 0 && j.GetRestarts() == 1
	})
	t.Logf("started again and over %v after the loss", time.Since(began).Round(time.Millisecond))
	neverTwice(t, c)
	for _, file := range []string{"out.0", "out.1"} {
		text, err := os.ReadFile(filepath.Join(c.Dir, file))
		want := "begins 0\n--- job 1 restarts (restart 1): node n2 does not know the job any more since its agent was restarted ---\nbegins 1\n"
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", file, text, err, want)
		}
	}
}

// An agent stands still for longer than the cluster waits, and goes on: it ends what
// it should no longer run before it accepts anything.
func TestAgentThatStoodStill(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 3, Slice: slice, Grace: time.Minute})
	again := gang(t, c, 1, beat, "--requeue")
	other := gang(t, c, 2, forever)
	began := time.Now()
	c.Agent("n2").Pause()
	t.Cleanup(c.Agent("n2").Continue)
	daemonstest.AwaitJob(t, c, 2, "is ended", func(j *scorev1.Job) bool { return j.GetVerdict() != nil })
	took := time.Since(began) // nodeagent/failuredetector and scored/leader have the bound, by a clock that no other program slows down
	other.Ends(125, "node n2 was lost")
	t.Logf("lost after %v", took.Round(time.Millisecond))
	again.Ends(0, "node n2 was lost")
	neverTwice(t, c)
	c.Agent("n2").Continue()
	if err := c.AwaitUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, c, "scrun", "-n", "1", "-w", "n2", "echo", "back").Ends(0, "back")
	if err := c.AwaitClean(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A drained node gets nothing new, hands back what may be started again, keeps the
// rest to its end, and can be removed then.
func TestDrainedNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 3, Slice: slice, Grace: time.Minute})
	again := gang(t, c, 1, beat, "--requeue")
	other := gang(t, c, 2, "while ! [ -e finish ]; do sleep 0.05; done; echo whole")
	drain := start(t, c, "scored", "node", "drain", "n2", "--requeue", "--reason", "new disk")
	again.Ends(0, "job 1 restarts (restart 1): node n2 was drained (new disk)")
	neverTwice(t, c)

	waits := start(t, c, "scrun", "-s", "-N", "3", "-n", "3", "echo", "at last")
	daemonstest.AwaitJob(t, c, 3, "waits", func(j *scorev1.Job) bool { return j.GetState() == scorev1.JobState_JOB_STATE_QUEUED })
	if why := scored(t, c, "job", "explain", "3"); !strings.Contains(why, "n2 is drained by ") || !strings.Contains(why, "(new disk)") {
		t.Errorf("scored job explain: %s", why)
	}
	if list := scored(t, c, "node", "list"); !strings.Contains(list, "draining") || !strings.Contains(list, "new disk") {
		t.Errorf("scored node list:\n%s", list)
	}
	start(t, c, "scored", "node", "drain", "n2", "--timeout", "0s").Ends(1, "still have jobs: n2: 2")
	start(t, c, "scored", "node", "remove", "n2").Ends(1, "node n2 has job 2")
	if err := os.WriteFile(filepath.Join(c.Dir, "finish"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	other.Ends(0, "whole")
	drain.Ends(0, "waiting for jobs")

	scored(t, c, "node", "resume", "n2")
	waits.Ends(0, "at last")
	start(t, c, "scored", "node", "resume", "n2").Ends(1, "is not drained")
	scored(t, c, "node", "drain", "n2")
	start(t, c, "scored", "node", "remove", "n2").Ends(0, "node n2 was removed")
	<-c.Agent("n2").Ended()
	if list := scored(t, c, "node", "list"); strings.Contains(list, "n2") {
		t.Errorf("scored node list:\n%s", list)
	}
}
