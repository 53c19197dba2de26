package replica

import (
	"fmt"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"strings"
	"testing"
	"time"
)

// BenchmarkSnapshot writes snapshots of 10,000 queued and 1,000 running jobs to disk during
// commits, and reports the slowest commit beside the usual one.
func BenchmarkSnapshot(b *testing.B) {
	const jobs, running = 11_000, 1000
	r, term := open(b, filepath.Join(b.TempDir(), "data"))
	nanos := int64(0)
	commit := func(commands ...*statepb.Command) time.Duration {
		nanos++
		start := time.Now()
		if err := r.Commit(&statepb.Entry{Term: term, TimeNanos: nanos, Commands: commands}); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	node := nodeEntry(term, 0, "n").Commands[0]
	node.GetRegisterNode().Node.Cpus = running
	commit(node)
	const batch = 100
	for first := uint64(1); first <= jobs; first += batch {
		commands := make([]*statepb.Command, 0, 3*batch)
		for id := first; id < first+batch; id++ {
			commands = append(commands, addRunningJob(id, id <= running)...)
		}
		commit(commands...)
	}
	usual, slowest := time.Duration(0), time.Duration(0)
	const usuals = 20
	for range usuals {
		usual += commit(node) / usuals
	}
	for b.Loop() {
		done := make(chan error, 1)
		go func() { done <- r.raft.Snapshot().Error() }()
		for over := false; !over; {
			slowest = max(slowest, commit(node))
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				over = true
			default:
			}
		}
	}
	b.ReportMetric(float64(usual.Microseconds())/1000, "ms/commit")
	b.ReportMetric(float64(slowest.Microseconds())/1000, "ms/slowest-commit")
}

// addRunningJob submits a job and marks it as running.
func addRunningJob(id uint64, runs bool) []*statepb.Command {
	env := make([]string, 40)
	for i := range env {
		env[i] = fmt.Sprintf("VARIABLE_%02d=%s", i, strings.Repeat("x", 40))
	}
	commands := []*statepb.Command{{Command: &statepb.Command_Submit{Submit: &statepb.Submit{
		JobId: id, Spec: &scorev1.JobSpec{Argv: []string{"./a.out"}, Env: env, Tasks: 1}, User: &scorev1.Identity{Uid: 1000, User: "ann"},
	}}}}
	if !runs {
		return commands
	}
	place := &statepb.Place{Node: "n", Ranks: []uint32{0}, Cpus: []uint32{uint32(id) - 1}}
	return append(commands,
		&statepb.Command{Command: &statepb.Command_Allocate{Allocate: &statepb.Allocate{JobId: id, Places: []*statepb.Place{place}, Gang: id}}},
		&statepb.Command{Command: &statepb.Command_MarkRunning{MarkRunning: &statepb.MarkRunning{JobId: id, StartedNanos: 1}}})
}
