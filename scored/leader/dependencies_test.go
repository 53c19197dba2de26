package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"strings"
	"testing"
)

func afterJobs(kind scorev1.DependencyKind, on ...uint64) *scorev1.JobSpec {
	spec := jobSpec(1)
	spec.Dependencies = []*scorev1.Dependency{{Kind: kind, JobIds: on}}
	return spec
}

// TestLeaderLostAfterAnEnd: the end of a job is committed, and the leader dies before anything of
// the jobs that waited for it is.
func TestLeaderLostAfterAnEnd(t *testing.T) {
	for _, c := range []struct {
		code  int32
		start []uint64
		end   []uint64
	}{{0, []uint64{2, 3}, []uint64{4}}, {3, []uint64{2, 4}, []uint64{3}}} {
		w := newWorld(t)
		w.connect(hello("n1", 4))
		for _, spec := range []*scorev1.JobSpec{jobSpec(1), afterJobs(afterAny, 1), afterJobs(afterOK, 1), afterJobs(afterNotOK, 1)} {
			if _, err := w.submit(spec); err != nil {
				t.Fatal(err)
			}
		}
		w.receive("n1", prepared(1))
		w.receive("n1", launched(1, w.b.now))
		w.receive("n1", exits(&agentpb.RankExited{JobId: 1, ExitCode: c.code, AtNanos: w.b.now}))
		w.busy = true
		w.receive("n1", nodeDone(1))
		commands, _ := w.b.takeCommands(1)
		w.commit(commands)
		w.busy = false
		if j := w.log.Job(1); j.Phase != state.Done || len(w.log.Jobs()) != 4 {
			t.Fatalf("the end is not committed: %v", j.Phase)
		}
		w.restart()
		w.connect(hello("n1", 4))
		for _, id := range c.start {
			if got := w.log.Job(id); got.Phase != state.Allocated {
				t.Errorf("exit code %d: job %d is in %v", c.code, id, got.Phase)
			}
		}
		for _, id := range c.end {
			got := w.log.Job(id)
			if got.Verdict.GetReason() != cancelled || !strings.Contains(got.Verdict.GetMessage(), "and that job ended with exit code") {
				t.Errorf("exit code %d: job %d is in %v, %v", c.code, id, got.Phase, got.Verdict)
			}
		}
	}
}

// TestDependenciesOnForgottenJobs: that they have ended is known, how they did is not.
func TestDependenciesOnForgottenJobs(t *testing.T) {
	w := newWorld(t)
	w.connect(hello("n1", 4))
	if _, err := w.b.setSettings(&scorev1.Settings{History: 1}, []string{"history"}); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(2) {
		if _, err := w.submit(jobSpec(1)); err != nil {
			t.Fatal(err)
		}
		w.kill(id + 1)
	}
	if w.log.Job(1) != nil || w.b.jobs[1] != nil {
		t.Fatal("job 1 is not forgotten")
	}
	for kind, want := range map[scorev1.DependencyKind]string{after: "", afterAny: "", afterOK: "is not kept", afterNotOK: "is not kept"} {
		_, err := w.submit(afterJobs(kind, 1))
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", kind, err)
		}
	}
	for _, record := range w.log.Jobs() {
		if record.Phase == state.Queued {
			t.Errorf("job %d waits", record.ID)
		}
	}
}

// TestManyDependents: the end of a job costs what waits for it, and a chain of failures is no
// recursion.
func TestManyDependents(t *testing.T) {
	const jobs = 3000
	w := newWorld(t)
	w.quiet, w.busy = true, true
	w.b.onHello(hello("n1", 1), &fakeLink{world: w, node: "n1"})
	submit := func(spec *scorev1.JobSpec) {
		if _, err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
	}
	submit(jobSpec(1))
	for on := range uint64(jobs) {
		submit(afterJobs(afterOK, on+1))
	}
	for range jobs {
		submit(afterJobs(afterAny, 1, jobs+1))
	}
	w.busy = false
	w.settle()
	w.kill(1)
	if left := w.log.Unfinished(); left != jobs || w.b.gang.Waiting()+w.b.gang.Running() != jobs {
		t.Errorf("%d jobs are left, %d wait in the matrix, and %d are placed", left, w.b.gang.Waiting(), w.b.gang.Running())
	}
}
