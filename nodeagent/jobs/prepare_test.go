package jobs

import (
	"context"
	"errors"
	"os"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobstate"
	"score/nodeagent/staging"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/await"
	"testing"
	"time"
)

// A detached job that is killed while its files are fetched goes on to its steward, which writes
// the reason, if there is one. A job that is only forgotten ends, too.
func TestKilledWhileFilesAreFetched(t *testing.T) {
	for _, tt := range []struct {
		name     string
		detached bool
		end      func(n *testNode, j *Job)
		want     string // the reason
	}{
		{"with a reason", true, func(n *testNode, _ *Job) { n.Kill(&agentpb.Kill{JobId: 1, Reason: "no program"}) }, "no program"},
		{"without one", true, func(n *testNode, _ *Job) { n.Kill(&agentpb.Kill{JobId: 1}) }, ""},
		{"attached", false, func(n *testNode, _ *Job) { n.Kill(&agentpb.Kill{JobId: 1, Reason: "no program"}) }, ""},
		{"forgotten", true, func(_ *testNode, j *Job) {
			j.mu.Lock()
			j.state.Step(time.Now(), jobstate.Forget) // there is no switching thread
			j.mu.Unlock()
			j.stopStaging()
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			p := order(1)
			p.Spec.Detached = tt.detached
			p.Spec.Staged = []*scorev1.StagedFile{{Name: "a", Sha256: make([]byte, staging.SumBytes), Size: 1}}
			p.User, p.StageSeed = &scorev1.Identity{Uid: uint32(os.Geteuid())}, "127.0.0.1:1"
			j := n.add(p)
			type result struct {
				reason string
				err    error
			}
			ended := make(chan result, 1)
			go func() {
				reason, err := j.stageOrExplain()
				ended <- result{reason, err}
			}()
			await.That(t, "the fetch has begun", func() bool {
				j.mu.Lock()
				defer j.mu.Unlock()
				return j.unstage != nil
			})
			tt.end(n, j)
			got := <-ended
			if got.reason != tt.want || errors.Is(got.err, errKilled) != (tt.want == "") {
				t.Errorf("the reason is %q, and the error %v", got.reason, got.err)
			}
		})
	}
}

// While nobody gives a byte the job can be killed.
func TestStageIsCancelled(t *testing.T) {
	n := newNode(t)
	p := order(1)
	p.Spec.Staged = []*scorev1.StagedFile{{Name: "a", Sha256: make([]byte, staging.SumBytes), Size: 1}}
	p.User, p.StageSeed = &scorev1.Identity{Uid: uint32(os.Geteuid())}, "127.0.0.1:1"
	j := n.newJob(p)
	ended := make(chan error, 1)
	go func() { ended <- j.stage() }()
	for begun := false; !begun; {
		j.mu.Lock()
		if begun = j.unstage != nil; begun {
			j.state.Step(time.Now(), jobstate.Kill)
			j.unstage()
		}
		j.mu.Unlock()
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	n.options.Files.Release(1) // as Forget does
	if err := j.stage(); !errors.Is(err, context.Canceled) {
		t.Errorf("killed before it began: %v", err)
	}
	file := staging.File{Sum: [staging.SumBytes]byte(p.GetSpec().GetStaged()[0].GetSha256()), Size: 1}
	if n.cache.HoldsFile(1, filetransfer.User(p.GetUser()), file) {
		t.Error("a job that was let go holds its files")
	}
}
