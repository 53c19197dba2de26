package hostile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/nodeagent/pmi"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

const (
	// lookupJobs jobs of lookupRanks ranks each ask for lookups names at once: together more than
	// any queue of one job may hold, each job less.
	lookupJobs, lookupRanks, lookups = 3, 60, 120
	// greedyRanks ask for all that a rank may, together for more than the ranks of a node may.
	greedyRanks = pmi.MaxAsked/pmi.MaxHeld + 1
	// churned names are published and withdrawn in turn.
	churned = 100
	// goFile lets the greedy ranks begin.
	goFile = "go"
)

// Ranks that flood the leader with requests about names end their own jobs at most: the node stays
// up, also when it repeats all of them to a leader that was silent, others' jobs run, and nothing
// is left.
func TestNameFlood(t *testing.T) {
	s := &scene{daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 1, Grace: time.Second})}
	f := &flood{scene: s, dir: filepath.Join(s.Dir, "flood")}
	s.Check(os.Mkdir(f.dir, 0o755))
	s.Check(os.Chown(f.dir, eve, eve))
	f.program = copyOf(t, os.Args[0], s.Dir)
	var jobs []uint64
	for i := range lookupJobs {
		jobs = append(jobs, f.submit("lookups", fmt.Sprint("lookups", i), lookupRanks))
	}
	churn, greedy := f.submit("churn", "churn", 1), f.submit("greedy", "greedy", greedyRanks)
	for i := range lookupJobs {
		f.await(fmt.Sprint("lookups", i), lookupRanks, rankAsked, rankAnswered)
	}
	f.await("churn", 1, rankAnswered)
	f.await("greedy", greedyRanks, rankReady)
	f.othersRun("during the flood")

	s.Server.Pause()
	for i := range lookupJobs {
		f.await(fmt.Sprint("lookups", i), lookupRanks, rankAsked)
	}
	s.Check(os.WriteFile(filepath.Join(f.dir, goFile), nil, 0o644))
	s.Await("the agent gives its stream up", func() bool {
		connected, err := s.Agents[0].Metric("score_agent_connected")
		return err == nil && connected == 0
	})
	s.Server.Continue()
	daemonstest.AwaitJob(t, s.Cluster, greedy, "ended", func(j *scorev1.Job) bool {
		want := fmt.Sprintf("the ranks on the node wait for %d answers", pmi.MaxAsked)
		return strings.Contains(j.GetVerdict().GetMessage(), want)
	})
	for i := range lookupJobs {
		f.await(fmt.Sprint("lookups", i), lookupRanks, rankAsked, rankAnswered)
	}
	f.othersRun("after the leader's silence")
	for _, id := range append(jobs, churn) {
		if !daemonstest.Running(s.awaitRunning(id)) {
			t.Errorf("job %d has ended", id)
		}
		s.Cancel(id)
	}
	s.End()
	if mb := s.resident(); mb > maxResident {
		t.Errorf("the server needed %d MB", mb)
	}
}

// flood are jobs of this program's parts.
type flood struct {
	*scene
	dir, program string
}

// submit starts a job whose ranks play a part, and tell in a file how far they are.
func (f *flood) submit(part, file string, ranks int) uint64 {
	f.T.Helper()
	return f.submitAs(eve, &scorev1.JobSpec{
		Name: file, Argv: []string{f.program, fmt.Sprint(eve)}, WorkDir: f.dir, Tasks: uint32(ranks), Oversubscribe: true,
		Detached: true, StdoutPattern: os.DevNull, MemoryPerNodeBytes: 200 << 20, Mpi: scorev1.MpiMode_MPI_MODE_PMI,
		Env: []string{partVariable + "=" + part, stateVariable + "=" + file, "GOMAXPROCS=1"},
	})
}

// await waits until all ranks of a job are in one of these states.
func (f *flood) await(file string, ranks int, states ...byte) {
	f.T.Helper()
	var text []byte
	err := daemons.Await(f.Ctx, file+" is "+string(states), func() bool {
		text, _ = os.ReadFile(filepath.Join(f.dir, file)) // there may be none yet
		return len(text) == ranks && strings.Trim(string(text), string(states)) == ""
	})
	if err != nil {
		f.T.Fatalf("%v: %q", err, text)
	}
}

// othersRun has another user run a job, and reports that the node is up all the time.
func (f *flood) othersRun(when string) {
	f.T.Helper()
	begin := time.Now()
	start(f.T, f.Cluster, ada, "one").number()
	if took := time.Since(begin); took > served {
		f.T.Errorf("%s another's job took %v", when, took)
	}
	reply, err := f.Cluster.Cluster.ListNodes(f.Ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
	f.Check(err)
	for _, n := range reply.Msg.GetNodes() {
		if !n.GetUp() {
			f.T.Errorf("%s the node is down: %v", when, n)
		}
	}
}

// copyOf copies a program into a directory, where all users may start it.
func copyOf(t *testing.T, program, dir string) string {
	t.Helper()
	from, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	name := filepath.Join(dir, filepath.Base(program))
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) //nolint:gosec // users start it
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	return name
}
