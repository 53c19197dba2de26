package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobstate"
	"score/nodeagent/peers"
	"score/nodeagent/staging"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"testing"
	"time"

	"go.uber.org/zap"
)

// While nobody gives a byte the job can be killed.
func TestStageIsCancelled(t *testing.T) {
	cache, err := staging.Open(filepath.Join(t.TempDir(), "cache"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	others := peers.New(pkitest.FromKey(t, "key", "lab", pki.Agent, "n1"), true)
	t.Cleanup(others.Close)
	options := Options{Files: filetransfer.New(filetransfer.Options{Node: "n1", Cache: cache, Peers: others, Logger: zap.NewNop()})}
	j := &Job{options: &options, id: 1, ctx: t.Context(), state: jobstate.New(jobstate.Config{}), order: &scorev1.Prepare{
		JobId:     1,
		Spec:      &scorev1.JobSpec{Staged: []*scorev1.StagedFile{{Name: "a", Sha256: make([]byte, staging.SumBytes), Size: 1}}},
		User:      &scorev1.Identity{Uid: uint32(os.Geteuid())},
		StageSeed: "127.0.0.1:1", Places: []*scorev1.NodePlace{{Address: "127.0.0.1:2"}},
	}}
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
	options.Files.Release(1) // as Forget does
	if err := j.stage(); !errors.Is(err, context.Canceled) {
		t.Errorf("killed before it began: %v", err)
	}
	if cache.Holds(1) {
		t.Error("a job that was let go holds its files")
	}
}
