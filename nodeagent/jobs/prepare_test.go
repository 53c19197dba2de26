package jobs

import (
	"context"
	"errors"
	"os"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobstate"
	"score/nodeagent/staging"
	"score/scored/api/scorev1"
	"testing"
	"time"
)

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
