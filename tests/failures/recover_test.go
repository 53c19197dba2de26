package failures

import (
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"testing"
	"time"
)

// A node is lost with its ranks, and the job goes on: the others get an event of PMIx for each of
// them, there are no fences of all ranks any more, and among themselves they meet.
func TestJobGoesOnWithoutANode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, daemons.Options{Nodes: 3, Slice: slice, Grace: time.Minute})
	program := compilePMIx(t, c, "../pmix/survive.c")
	job := start(t, c, "scrun", "-s", "--recover", "-N", "3", "-n", "6", program, "lose", "2", "3")
	daemonstest.AwaitJob(t, c, 1, "runs", daemonstest.Running)
	met := "fence before -1: SUCCESS\n"
	if err := daemons.Await(t.Context(), "all ranks have met", func() bool { return strings.Count(job.Said(), met) == 6 }); err != nil {
		t.Fatal(err, job.Said())
	}
	c.KillNode("n2")
	job.Ends(137, "node n2 was lost; job 1 goes on without its ranks there", "heard of 2: ", "heard of 3: ", "those that are left 4: SUCCESS\n")
	for text, times := range map[string]int{"heard of 2: ": 4, "heard of 3: ": 4, "fence after -1: UNREACHABLE\n": 4, "those that are left 4: SUCCESS\n": 4} {
		if n := strings.Count(job.Said(), text); n != times {
			t.Errorf("%q comes %d times, not %d:\n%s", text, n, times, job.Said())
		}
	}

	// The node comes back, and is of use.
	if err := c.Agent("n2").Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, c, "scrun", "-n", "1", "-w", "n2", "echo", "back").Ends(0, "back")
	daemonstest.AwaitJob(t, c, 1, "has ended", func(j *scorev1.Job) bool { return j.GetVerdict().GetExitCode() == 137 })
	if err := c.AwaitClean(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// compilePMIx builds a client of libpmix.
func compilePMIx(t *testing.T, c *daemons.Cluster, source string) string {
	t.Helper()
	dirs, err := filepath.Glob("/usr/lib/*/pmix2")
	if err != nil || len(dirs) == 0 {
		t.Fatal("libpmix-dev is not installed; run .ci/setup test")
	}
	program := filepath.Join(c.Dir, strings.TrimSuffix(filepath.Base(source), ".c"))
	out, err := exec.Command("gcc", "-O2", "-w", "-o", program, source, "-I"+filepath.Join(dirs[0], "include"),
		"-L"+filepath.Join(dirs[0], "lib"), "-lpmix", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return program
}
