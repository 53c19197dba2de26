package daemon

import (
	"os"
	"path/filepath"
	"score/cmd/scored/rundir"
	"sync"
	"testing"
)

// Users of a cluster of root's reach the files that go along with their jobs, and list nobody's.
func TestDevStage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's cluster has other users")
	}
	own, err := rundir.Make(t.TempDir(), "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	stage, err := openDevStage(own, true)
	if err != nil {
		t.Fatal(err)
	}
	for dir := stage.Path(); dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			t.Errorf("others do not come through %s: %v, %v", dir, info.Mode(), err)
		}
	}
	if info, err := os.Stat(stage.Path()); err != nil || info.Mode().Perm() != throughMode {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
	if err := closeDevStage(stage, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(stage.Path()); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
}

// A user's cluster keeps them in its own directory, which it has locked.
func TestDevStageOfAUser(t *testing.T) {
	own, err := rundir.Make(t.TempDir(), "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	stage, err := openDevStage(own, false)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(stage.Path()) != own.Path() {
		t.Errorf("it is %s, the cluster's is %s", stage.Path(), own.Path())
	}
	if err := closeDevStage(stage, false); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(own.Path()); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// The last cluster removes the place of all, also while others begin.
func TestTheLastDevStageRemovesThePlace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's cluster has other users")
	}
	parent := filepath.Join(t.TempDir(), "place")
	const clusters, rounds = 8, 50
	var all sync.WaitGroup
	for range clusters {
		all.Go(func() {
			for range rounds {
				stage, err := makeStage(parent)
				if err != nil {
					t.Error(err)
					return
				}
				if err := closeDevStage(stage, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(parent); !os.IsNotExist(err) {
		t.Errorf("the place is left: %v", err)
	}
}
